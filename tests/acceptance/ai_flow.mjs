// What a user of `ai-sdk-provider-codex-cli` does, through the provider interface that the AI SDK calls.
// Arguments: FOLDER MEMORYD, run where the package is installed. Prints one JSON object.

import { createCodexAppServer, listModels } from 'ai-sdk-provider-codex-cli';

const [folder, memoryd] = process.argv.slice(2);
const seen = { asked: [] };
const allow = (params) => {
  seen.asked.push(params.itemId !== undefined);
  return { decision: 'accept' };
};
const settings = {
  codexPath: memoryd,
  cwd: folder,
  approvalPolicy: 'on-request',
  sandboxPolicy: 'read-only',
  serverRequests: { onCommandExecutionApproval: allow, onFileChangeApproval: allow },
};
const prompt = (text) => [{ role: 'user', content: [{ type: 'text', text }] }];
const words = (content) => content.filter((one) => one.type === 'text').map((one) => one.text).join('');

async function streamed(model, options) {
  const { stream } = await model.doStream(options);
  const kinds = [];
  let text = '';
  for await (const part of stream) {
    kinds.push(part.type);
    if (part.type === 'text-delta') text += part.delta;
    if (part.type === 'error') throw part.error;
  }
  return { kinds, text };
}

let provider = createCodexAppServer({ defaultSettings: settings });
const persistent = { 'codex-app-server': { threadMode: 'persistent' } };
const first = await provider('mock-model').doGenerate({ prompt: prompt('hello'), providerOptions: persistent });
seen.first = words(first.content);
seen.thread = first.providerMetadata['codex-app-server'].threadId;
seen.finished = first.finishReason.unified ?? first.finishReason;
const known = { 'codex-app-server': { threadId: seen.thread } };
for (const [name, text] of [['command', 'run the command'], ['edit', 'edit the file']]) {
  const { kinds, text: said } = await streamed(provider('mock-model'), { prompt: prompt(text), providerOptions: known });
  seen[name] = said;
  seen[`${name}_parts`] = [...new Set(kinds)];
}
await provider.close();

provider = createCodexAppServer({ defaultSettings: settings });
const again = await provider('mock-model').doGenerate({ prompt: prompt('and again'), providerOptions: known });
seen.second = words(again.content);
const schema = { type: 'object', properties: { fact: { type: 'string' } }, required: ['fact'], additionalProperties: false };
const object = await provider('mock-model').doGenerate({
  prompt: prompt('a fact'),
  responseFormat: { type: 'json', schema },
});
seen.json = JSON.parse(words(object.content));
await provider.close();
seen.models = (await listModels(settings)).models.length;
console.log(JSON.stringify(seen));
process.exit(0);
