// What council adds to OpenClaw. Each hook is bounded in time, says nothing unless a council is
// concerned, and lets everything pass when something goes wrong: a turn never fails because of it.
//
// - resolve_exec_env: the shell of an agent whose turn a council started knows that turn and has
//   its token. The driver leaves them in a file named after the session; no file, no variable.
// - before_agent_reply: in a session of a room, an agent that does not have the floor stays silent.
// - agent_end: why a turn of a council failed is left for the driver, which may be told less; a turn
//   in a room is reported as ended; a workspace with an open council gets a heartbeat.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const ASK_MS = 8000;
const HOOK_MS = 10000;
const BEAT_EVERY_MS = 2000;
const MOST_BYTES = 64 * 1024;
const MOST_TALK_BYTES = 16 * 1024 * 1024;

function stateFolder() {
  const home = process.env.OPENCLAW_HOME?.trim() || os.homedir();
  const given = process.env.OPENCLAW_STATE_DIR?.trim();
  if (!given) return path.join(home, ".openclaw");
  return path.resolve(given.replace(/^~(?=$|\/)/, home));
}

// Returns the path, without its ending, of what the driver left for a session; "" for no session.
function noteOf(sessionKey) {
  if (!sessionKey) return "";
  const name = createHash("sha256").update(sessionKey.toLowerCase()).digest("hex");
  return path.join(stateFolder(), "council", name);
}

// Returns the variables of the run for which a session was started, undefined for any other session.
function runOf(sessionKey) {
  if (!sessionKey?.includes(":council:")) return undefined;
  const file = `${noteOf(sessionKey)}.json`;
  let found;
  try {
    found = fs.lstatSync(file);
  } catch {
    return undefined;
  }
  const isOurs = found.isFile() && found.uid === os.userInfo().uid && !(found.mode & 0o077);
  if (!isOurs || found.size > MOST_BYTES) return undefined;
  const env = JSON.parse(fs.readFileSync(file, "utf8")).env ?? {};
  const named = ([name, value]) => /^(COUNCIL_[A-Z_]+|traceparent)$/.test(name) && typeof value === "string";
  return Object.fromEntries(Object.entries(env).filter(named));
}

// Returns the room that a session of a channel or a group belongs to, and its workspace. Which rooms
// there are for a slave its master knows alone: it is asked about each.
function roomOf(sessionKey, workspaces) {
  const found = /^agent:[^:]+:[^:]+:(?:[^:]+:)?(?:channel|group):([A-Za-z0-9_.-]+)$/.exec(sessionKey ?? "");
  if (!found) return undefined;
  const isRoom = (one) => fs.existsSync(path.join(one.shared, "channels", `${found[1]}.md`));
  const workspace = workspaces.find(isRoom) ?? workspaces.find((one) => one.relayed);
  return workspace && { id: found[1], workspace };
}

function hasOpenCouncil(workspace) {
  return fs.readdirSync(workspace.shared).some((name) => /^council-.+-conversation\.md$/.test(name));
}

// Runs council and returns what it printed; undefined when it fails or takes too long.
function ask(command, words, input) {
  return new Promise((resolve) => {
    const child = spawn(command[0], [...command.slice(1), ...words], {
      stdio: ["pipe", "pipe", "ignore"], timeout: ASK_MS, killSignal: "SIGKILL",
    });
    let said = "";
    child.stdout.on("data", (part) => { if (said.length < MOST_BYTES) said += part; });
    child.on("error", () => resolve(undefined));
    child.on("close", (code) => resolve(code === 0 ? said : undefined));
    child.stdin.on("error", () => {});
    child.stdin.end(input ?? "");
  });
}

export default {
  id: "council",
  name: "Council",
  description: "Deliberation in files between agents and people.",
  register(api) {
    const config = api.pluginConfig ?? {};
    const command = config.command?.length ? config.command : ["council"];
    const workspaces = (config.workspaces ?? []).map((one) => ({
      root: one.root, shared: one.shared || path.join(one.root, "memory", "shared"), relayed: one.relayed === true,
    }));
    const begun = new Map(); // by run: the anchor that a master gave for it, if it gave one
    const beaten = new Map();

    const on = (name, hook, timeoutMs = HOOK_MS) => api.on(name, async (event, ctx) => {
      try {
        return await hook(event ?? {}, ctx ?? {});
      } catch (error) {
        api.logger?.debug?.(`council: ${name}: ${error}`);
        return undefined;
      }
    }, { timeoutMs });

    on("resolve_exec_env", (event, ctx) => runOf(event.sessionKey ?? ctx.sessionKey));

    on("before_agent_reply", async (_event, ctx) => {
      const room = roomOf(ctx.sessionKey, workspaces);
      if (!room || !ctx.agentId) return undefined;
      const words = ["turn", "begin", room.id, "--as", ctx.agentId, "--root", room.workspace.root, "--json"];
      if (ctx.runId) words.push("--run-id", ctx.runId);
      const said = await ask(command, words);
      const answer = said && JSON.parse(said);
      if (answer?.allowed === false) return { handled: true };
      if (answer?.allowed && ctx.runId) begun.set(ctx.runId, Number.isSafeInteger(answer.anchor) ? answer.anchor : 0);
      return undefined;
    });

    on("agent_end", async (event, ctx) => {
      const key = ctx.sessionKey;
      const room = roomOf(key, workspaces);
      const run = event.runId ?? ctx.runId;
      const anchor = begun.get(run);
      if (room && ctx.agentId && begun.delete(run)) {
        const talk = JSON.stringify(event.messages ?? []);
        const words = ["turn", "end", room.id, "--as", ctx.agentId, "--root", room.workspace.root, "--run-id", run];
        if (anchor > 0) words.push("--anchor", String(anchor));
        if (event.success && talk.length <= MOST_TALK_BYTES) await ask(command, [...words, "--messages", "-"], talk);
        else await ask(command, [...words, "--text", "NO_REPLY"]);
      }
      if (runOf(key)) { // the driver that started this turn goes on by itself
        const file = `${noteOf(key)}.seen`;
        fs.rmSync(file, { force: true });
        if (!event.success && event.error) fs.writeFileSync(file, String(event.error), { mode: 0o600, flag: "wx" });
        return;
      }
      for (const workspace of workspaces) {
        if (Date.now() - (beaten.get(workspace.root) ?? 0) < BEAT_EVERY_MS) continue;
        try {
          if (!hasOpenCouncil(workspace)) continue;
        } catch {
          continue; // the workspace is gone: no matter of this turn
        }
        beaten.set(workspace.root, Date.now());
        const beat = spawn(command[0], [...command.slice(1), "heartbeat", "--root", workspace.root], {
          stdio: "ignore", detached: true,
        });
        beat.on("error", () => {});
        beat.unref();
      }
    });
  },
};
