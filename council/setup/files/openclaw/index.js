// What council adds to OpenClaw. Tools, command and hooks of document 001 are each one call of the
// command `council`; nothing is decided here. Hooks are bounded in time, and a turn that has nothing
// to do with council, or a hook that fails, passes unchanged.
//
// - resolve_exec_env: the shell of an agent knows who it is and where, and the run it belongs to.
//   The driver leaves the variables of a run in a file named after the session.
// - before_agent_reply: in a room, an agent without the floor stays silent.
// - agent_end: the turn in a room has ended; an open council gets a heartbeat.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const ASK_MS = 8000;
const END_MS = 60000; // a turn ends when its text has been delivered
const BEAT_EVERY_MS = 2000;
const MOST_BYTES = 64 * 1024;
const MOST_TALK_BYTES = 16 * 1024 * 1024;
const SESSION = /^agent:[^:]+:[^:]+:(?:[^:]+:)?(?:channel|group):([A-Za-z0-9_.-]+)$/;

const shared = (workspace) => path.join(workspace.root, "memory", "shared");

function names(folder) {
  try {
    return fs.readdirSync(folder);
  } catch {
    return []; // the workspace is gone, or never had any
  }
}

// Returns the variables of the run for which a session was started, undefined for any other session.
function runOf(sessionKey, workspaces) {
  if (!sessionKey?.includes(":council:")) return undefined;
  const name = createHash("sha256").update(sessionKey.toLowerCase()).digest("hex");
  for (const workspace of workspaces) {
    const file = path.join(shared(workspace), ".council", "openclaw", `${name}.json`);
    const found = fs.lstatSync(file, { throwIfNoEntry: false });
    if (!found) continue;
    const isOurs = found.isFile() && found.uid === os.userInfo().uid && !(found.mode & 0o077);
    if (!isOurs || found.size > MOST_BYTES) continue;
    const all = Object.entries(JSON.parse(fs.readFileSync(file, "utf8")) ?? {});
    const isKnown = ([key, value]) => /^(COUNCIL_[A-Z_]+|TRACE[A-Z]+)$/.test(key) && typeof value === "string";
    return Object.fromEntries(all.filter(isKnown));
  }
  return undefined;
}

// Returns who an agent is, and where, in the first workspace that has it.
function placeOf(agentId, workspaces) {
  if (!/^[a-z0-9][a-z0-9_-]*$/.test(agentId ?? "")) return undefined;
  const isHome = (one) => fs.existsSync(path.join(one.root, "memory", "agents", agentId));
  const found = workspaces.find(isHome);
  return found && { COUNCIL_ROOT: found.root, COUNCIL_AGENT: agentId };
}

// Returns the room of a channel or group, its workspace, and whether texts have to be posted there:
// not where it is tied to Discord, which has them. A relayed workspace asks its master.
function roomOf(sessionKey, workspaces) {
  const id = SESSION.exec(sessionKey ?? "")?.[1];
  if (!id) return undefined;
  for (const workspace of workspaces.filter((one) => !one.relayed)) {
    const folder = path.join(shared(workspace), "channels");
    for (const name of names(folder).filter((one) => one.endsWith(".md"))) {
      const page = name === `${id}.md` || /^\d+$/.test(id) ? fs.readFileSync(path.join(folder, name), "utf8") : "";
      const tie = /^ "channel": "(\d+)"/m.exec(page)?.[1];
      if (tie === id || name === `${id}.md`) return { id, workspace, posts: !tie };
    }
  }
  const workspace = workspaces.find((one) => one.relayed);
  return workspace && { id, workspace, posts: false };
}

function hasOpenCouncil(workspace) {
  return names(shared(workspace)).some((name) => /^council-.+-conversation\.md$/.test(name));
}

// Runs council; returns its exit code (null: it was ended), what it printed and its errors.
function call(command, workspace, words, input = "", timeout = ASK_MS) {
  return new Promise((resolve) => {
    const argv = [...command.slice(1), ...words, "--root", workspace.root];
    const child = spawn(command[0], argv, { timeout, killSignal: "SIGKILL" });
    const said = { out: "", err: "" };
    child.stdout.on("data", (part) => { if (said.out.length < MOST_BYTES) said.out += part; });
    child.stderr.on("data", (part) => { if (said.err.length < MOST_BYTES) said.err += part; });
    child.on("error", (error) => resolve({ code: null, out: "", err: String(error) }));
    child.on("close", (code) => resolve({ code, ...said }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

const text = (description) => ({ type: "string", description });
const list = (description) => ({ type: "array", items: { type: "string" }, description });
const MEMBERS = "Discord user ids or agent ids to add.";

// A tool: what it is for, its parameters (those with * are required), and the words of its call;
// the last value of these, where it is a function, is the standard input.
const creates = (mode, key, about) => [`create-${mode}-channel`, about,
  { "name*": text("The name of the channel."), [key]: list(MEMBERS) },
  (given) => ["channel", "create", mode, given.name, ...joined("--participants", given[key])]];
const TOOLS = [
  creates("chat", "participants", "Create a channel in which agents speak in turn."),
  creates("report", "members", "Create a channel to which agents only post."),
  creates("work", "members", "Create a workspace channel; its mode cannot be changed."),
  ["create-discussion-channel", "Create a discussion with a goal; you complete it.", {
    "discussion-guide*": text("Markdown with the headings ## Topic, ## Goals and ## Completion criteria."),
    "participants*": list(MEMBERS),
    "callback-channel": text("The room that gets the summary."),
    "callback-guild": text("The guild of that channel; a room in files has none."),
    name: text("The name of the channel (default: a new one)."),
  }, (given) => ["channel", "create", "discussion",
    given.name || `discussion-${createHash("sha256").update(given["discussion-guide"]).digest("hex").slice(0, 8)}`,
    "--guide", "-", ...joined("--participants", given.participants),
    ...joined("--callback", given["callback-channel"])], (given) => given["discussion-guide"]],
  ["discussion-complete", "Complete a discussion that you created.", {
    "discussion-channel*": text("The channel of the discussion."),
    "summary*": text("The path of the summary, in memory/shared/discussion-summary/."),
  }, (given) => ["channel", "complete", given["discussion-channel"], "--summary", given.summary]],
  ["dirigent-register", "Register your Discord account, so that rooms know you.", {
    "discordUserId*": text("Your Discord user id."), agentName: text("Your display name (default: your id)."),
  }, (given, me) => ["agent", "add", me, "--discord", given.discordUserId, ...joined("--name", given.agentName)]],
];

function joined(option, value) {
  const one = Array.isArray(value) ? value.join(",") : value;
  return one ? [option, one] : [];
}

function schemaOf(parameters) {
  const all = Object.entries(parameters);
  const plain = (key) => key.replace("*", "");
  const required = all.filter(([key]) => key.endsWith("*")).map(([key]) => plain(key));
  const properties = Object.fromEntries(all.map(([key, value]) => [plain(key), value]));
  return { type: "object", additionalProperties: false, properties, required };
}

export default {
  id: "council",
  name: "Council",
  description: "Councils and rooms in files.",
  register(api) {
    const config = api.pluginConfig ?? {};
    const command = config.command?.length ? config.command : ["council"];
    const workspaces = config.workspaces ?? [];
    const anchors = new Map(); // of runs whose turn in a room has begun
    const beaten = new Map();

    const on = (name, hook, timeoutMs) => api.on(name, async (event, ctx) => {
      try {
        return await hook(event ?? {}, ctx ?? {});
      } catch (error) {
        api.logger?.debug?.(`council: ${name}: ${error}`);
        return undefined;
      }
    }, { timeoutMs });

    for (const [name, description, parameters, words, input] of TOOLS) {
      const tool = (ctx) => ({
        name, label: name, description, parameters: schemaOf(parameters),
        async execute(_id, given) {
          const me = ctx?.agentId ?? "";
          const own = name === "dirigent-register" ? [] : ["--as", me];
          const place = placeOf(me, workspaces);
          const workspace = workspaces.find((one) => one.root === place?.COUNCIL_ROOT) ?? workspaces[0];
          if (!me || !workspace) throw new Error("council: no agent or no workspace is known");
          const done = await call(command, workspace, [...words(given, me), ...own, "--json"], input?.(given));
          if (done.code !== 0) throw new Error(done.err.trim() || "council did not answer");
          return { content: [{ type: "text", text: done.out.trim() }], details: JSON.parse(done.out) };
        },
      });
      api.registerTool?.(tool, { name });
    }

    api.registerCommand?.({
      name: "set-channel-mode",
      description: "Set how agents take turns in this channel: none, chat or report.",
      acceptsArgs: true,
      async handler(ctx) {
        const key = ctx.sessionKey ?? `agent:x:${ctx.channel}:channel:${String(ctx.to ?? "").split(":").pop()}`;
        const id = SESSION.exec(key)?.[1];
        const mode = ctx.args?.trim() ?? "";
        const workspace = roomOf(key, workspaces)?.workspace ?? workspaces[0];
        if (!id || !workspace) return { text: "This is not a channel." };
        if (!/^[a-z]{2,20}$/.test(mode)) return { text: "Say none, chat or report." };
        const by = ["--as", ctx.senderId || "person", "--json"];
        let done = await call(command, workspace, ["channel", "mode", id, mode, ...by]);
        const isNew = done.code === 5 && ["chat", "report"].includes(mode); // until now it was none
        if (isNew) done = await call(command, workspace, ["channel", "create", mode, id, ...by]);
        if (done.code === 0) return { text: `Mode: ${JSON.parse(done.out).mode}` };
        return { text: done.code === 5 ? "Mode: none" : done.err.trim() || "council did not answer" };
      },
    });

    on("resolve_exec_env", (event, ctx) => {
      const known = runOf(event.sessionKey ?? ctx.sessionKey, workspaces);
      return known ?? placeOf(ctx.agentId, workspaces);
    }, ASK_MS);

    on("before_agent_reply", async (_event, ctx) => {
      const room = roomOf(ctx.sessionKey, workspaces);
      if (!room || !ctx.agentId) return undefined;
      const words = ["turn", "begin", room.id, "--as", ctx.agentId, "--json"];
      if (ctx.runId) words.push("--run-id", ctx.runId);
      const done = await call(command, room.workspace, words);
      const answer = done.code === 0 && JSON.parse(done.out);
      if (answer?.allowed === false) return { handled: true };
      if (answer?.allowed && ctx.runId) anchors.set(ctx.runId, Number(answer.anchor) || 0);
      return undefined;
    }, ASK_MS + 1000);

    on("agent_end", async (event, ctx) => {
      const room = roomOf(ctx.sessionKey, workspaces);
      const run = event.runId ?? ctx.runId;
      const anchor = anchors.get(run);
      if (room && ctx.agentId && anchors.delete(run)) {
        const talk = JSON.stringify(event.messages ?? []);
        const words = ["turn", "end", room.id, "--as", ctx.agentId, "--run-id", run];
        if (anchor > 0) words.push("--anchor", String(anchor));
        const isWhole = event.success && talk.length <= MOST_TALK_BYTES;
        words.push(...(isWhole ? ["--messages", "-"] : ["--text", "NO_REPLY"]), ...(room.posts ? ["--post"] : []));
        await call(command, room.workspace, words, isWhole ? talk : "", END_MS);
      }
      if (runOf(ctx.sessionKey, workspaces)) return; // the supervisor of this run goes on by itself
      for (const workspace of workspaces.filter(hasOpenCouncil)) {
        if (Date.now() - (beaten.get(workspace.root) ?? 0) < BEAT_EVERY_MS) continue;
        beaten.set(workspace.root, Date.now());
        const argv = [...command.slice(1), "heartbeat", "--root", workspace.root];
        const beat = spawn(command[0], argv, { stdio: "ignore", detached: true });
        beat.on("error", () => {});
        beat.unref();
      }
    }, END_MS + 1000);
  },
};
