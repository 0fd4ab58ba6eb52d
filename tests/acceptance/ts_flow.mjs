// What a user of `@openai/codex-sdk` does: turns, streamed ones, a thread resumed by its id, a failure.
// Argument: PROGRAM, run in the project. Folder, model, sandbox and output schema stay with the server:
// the original's own command refuses them beside `--remote`. Prints one JSON object.

import { Codex } from '@openai/codex-sdk';

const [program] = process.argv.slice(2);
const where = { skipGitRepoCheck: true };
const seen = {};

let codex = new Codex({ codexPathOverride: program });
const thread = codex.startThread(where);
const first = await thread.run('hello');
seen.first = first.finalResponse;
seen.thread = thread.id;
seen.tokens = first.usage.input_tokens > 0 && first.usage.output_tokens > 0;
for (const [name, text] of [['command', 'run the command'], ['edit', 'edit the file']]) {
  const { events } = await thread.runStreamed(text);
  const kinds = [];
  for await (const event of events) {
    kinds.push(event.item ? `${event.type} ${event.item.type}` : event.type);
    if (event.item?.type === 'agent_message') seen[name] = event.item.text;
    if (event.item?.type === 'command_execution' && event.type === 'item.completed') seen.output = event.item.aggregated_output;
    if (event.item?.type === 'file_change') seen.changes = event.item.changes;
  }
  seen[`${name}_events`] = kinds;
}

codex = new Codex({ codexPathOverride: program });
const again = codex.resumeThread(seen.thread, where);
seen.second = (await again.run('and again')).finalResponse;
seen.same = again.id === seen.thread;
try {
  await codex.startThread(where).run('fail with an error');
  seen.failure = null;
} catch (error) {
  seen.failure = error.message;
}
console.log(JSON.stringify(seen));
