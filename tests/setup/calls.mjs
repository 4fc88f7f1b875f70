// Calls the hooks, tools and commands of a plugin: node calls.mjs PLUGIN {"config", "calls"}
const { default: plugin } = await import(process.argv[2]);
const { config, calls } = JSON.parse(process.argv[3]);
const hooks = {}, tools = {}, commands = {};
plugin.register({
  pluginConfig: config, on: (name, hook) => { hooks[name] = hook; },
  registerTool: (make, { name }) => { tools[name] = make; },
  registerCommand: (one) => { commands[one.name] = one.handler; },
});
const said = [];
for (const [kind, name, given, ctx] of calls) {
  try {
    if (kind === "hook") said.push((await hooks[name](given, ctx)) ?? null);
    if (kind === "tool") said.push((await tools[name](ctx).execute("1", given)).details);
    if (kind === "command") said.push((await commands[name](ctx)).text);
    if (kind === "schema") said.push(tools[name](ctx).parameters);
  } catch (error) { said.push(String(error)); }
}
console.log(JSON.stringify(said));
process.exit();
