// The client to compare with: what Lobu's TypeScript provider does, and nothing more.
//
//   node benchmarks/node_client.mjs '{"url": ..., "agent": ..., "conversations": ..., ...}'
//
// Global fetch; create, then for each turn POST and a new events stream that is read until
// `complete`, then DELETE. Prints what it measured as one line of JSON.

const { url, agent, conversations, turns, concurrency, warmup } = JSON.parse(process.argv[2]);
const agents = `${url}/lobu/api/v1/agents`;

async function post(address, token, body) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  return response.json();
}

async function readTurn(address, token, messageId) {
  const headers = { accept: 'text/event-stream', authorization: `Bearer ${token}` };
  const response = await fetch(address, { headers });
  if (!response.ok) throw new Error(`${address} answered ${response.status}`);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const turn = { text: '', toolCalls: [] };
  let rest = '';
  let name = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) throw new Error('the stream ended before the turn did');
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith('event: ')) name = line.slice(7);
      else if (line.startsWith('data: ')) {
        const data = JSON.parse(line.slice(6));
        if (data.messageId !== messageId) continue;
        if (name === 'output') turn.text += data.content;
        else if (name === 'tool_use') turn.toolCalls.push(data);
        else if (name === 'complete') {
          await reader.cancel();
          return turn;
        }
      }
    }
  }
}

async function converse() {
  const thread = `promptfoo-${crypto.randomUUID()}`;
  const session = await post(agents, 'user-token', { agentId: agent, thread, forceNew: true });
  const address = `${agents}/${encodeURIComponent(session.agentId)}`;
  const told = [];
  for (let n = 1; n <= turns; n += 1) {
    const content = `message ${n}`;
    const { messageId } = await post(`${address}/messages`, session.token, { content });
    told.push(await readTurn(`${address}/events`, session.token, messageId));
  }
  const headers = { authorization: `Bearer ${session.token}` };
  await (await fetch(address, { method: 'DELETE', headers })).text();
  return told;
}

async function run(count) {
  const sums = { characters: 0, tool_calls: 0 };
  let left = count;
  async function work() {
    while (left > 0) {
      left -= 1;
      for (const turn of await converse()) {
        sums.characters += turn.text.length;
        sums.tool_calls += turn.toolCalls.length;
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work));
  return sums;
}

await run(warmup);
const started = performance.now();
const before = process.cpuUsage();
const sums = await run(conversations);
const wall_s = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
const peak_mb = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ wall_s, cpu_s: (user + system) / 1e6, peak_mb, ...sums }));
process.exit(0);
