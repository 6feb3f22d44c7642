// A gateway that answers at once, for measuring clients: the Agent API of Lobu without an agent.
//
//   node benchmarks/load_gateway.mjs      prints the port it listens on; ends with its stdin
//
// The agent's id says what a turn consists of: `d4-b40-t1` sends four deltas of 40 bytes each, one
// tool call, and `complete` with the whole text. As at a real gateway the last 100 events of a
// conversation are sent again to each new stream. Kinder than a real gateway: a turn without an
// open stream waits for one, so that no client loses events. GET /load tells the CPU seconds used
// so far: a run counts only while the gateway had time to spare.

import http from 'node:http';
import { randomUUID } from 'node:crypto';

const AGENTS = '/lobu/api/v1/agents';
const REPLAYED_EVENTS = 100;
const ID = '@id@';
const sessions = new Map();

class Session {
  constructor(id, agentId) {
    this.id = id;
    this.agentId = agentId;
    this.streams = new Set();
    this.recent = [];
    this.waiting = [];
  }

  open(response) {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(frame('connected', { agentId: this.agentId, timestamp: Date.now() }));
    for (const event of this.recent) response.write(event);
    this.streams.add(response);
    response.on('close', () => this.streams.delete(response));
    for (const messageId of this.waiting.splice(0)) this.runTurn(messageId);
  }

  message(messageId) {
    if (this.streams.size > 0) this.runTurn(messageId);
    else this.waiting.push(messageId);
  }

  runTurn(messageId) {
    const events = turnFrames(this.agentId, messageId);
    for (const response of this.streams) {
      for (const event of events) response.write(event);
    }
    this.recent = [...this.recent, ...events.slice(-REPLAYED_EVENTS)].slice(-REPLAYED_EVENTS);
  }

  close() {
    for (const response of this.streams) {
      response.end(frame('closed', { reason: 'agent_deleted' }));
    }
  }
}

const templates = new Map();

// The frames of a turn, in pieces between which the message's id and the time go: what the gateway
// itself needs would count against the faster client.
function turnFrames(agentId, messageId) {
  if (!templates.has(agentId)) templates.set(agentId, turnTemplate(agentId));
  const timestamp = String(Date.now());
  return templates.get(agentId).map((pieces) => {
    let text = pieces[0];
    for (let n = 1; n < pieces.length; n += 2) {
      text += (pieces[n] === ID ? messageId : timestamp) + pieces[n + 1];
    }
    return text;
  });
}

function turnTemplate(agentId) {
  const [, deltas, bytes, tools] = agentId.match(/^d(\d+)-b(\d+)-t(\d+)$/).map(Number);
  const [messageId, timestamp] = [ID, '@time@'];
  const delta = `${'word '.repeat(Math.ceil(bytes / 5)).slice(0, bytes - 1)}\n`;
  const frames = [];
  for (let n = 1; n <= tools; n += 1) {
    frames.push(frame('tool_use', {
      toolCallId: `call_${n}`,
      name: 'search_memory',
      input: { query: `question ${n}` },
      isError: false,
      result_summary: { event_ids: [n], snippets: [{ id: n, text: `The answer is ${n}.` }] },
      timestamp,
      messageId,
    }));
  }
  for (let n = 0; n < deltas; n += 1) {
    frames.push(frame('output', { type: 'delta', content: delta, timestamp, messageId }));
  }
  const finalText = delta.repeat(deltas);
  const processedMessageIds = [messageId];
  frames.push(frame('complete', {
    type: 'complete', messageId, processedMessageIds, finalText, timestamp,
  }));
  return frames.map((text) => text.split(/(@id@|"@time@")/));
}

function frame(event, data) {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

function reply(response, status, value) {
  const body = JSON.stringify(value);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function create(response, { agentId, thread }) {
  const id = `${agentId}_${thread}`;
  sessions.set(id, new Session(id, agentId));
  const token = `${'0123456789abcdef'.repeat(2)}:${'fedcba98'.repeat(4)}:${'89abcdef'.repeat(4)}`;
  reply(response, 201, { success: true, agentId: id, token, expiresAt: Date.now() + 86_400_000 });
}

function route(request, response, body) {
  if (request.url === '/load') {
    const { user, system } = process.cpuUsage();
    return reply(response, 200, { cpu_s: (user + system) / 1e6, sessions: sessions.size });
  }
  if (request.url === AGENTS) return create(response, JSON.parse(body));
  const [id, tail] = request.url.slice(AGENTS.length + 1).split('/');
  const session = sessions.get(decodeURIComponent(id));
  if (session === undefined) return reply(response, 404, { success: false, error: 'Not found' });
  if (tail === 'events') return session.open(response);
  if (tail === 'messages') {
    const messageId = JSON.parse(body).messageId || randomUUID();
    reply(response, 200, { success: true, messageId, jobId: '1', queued: true });
    return session.message(messageId);
  }
  session.close();
  sessions.delete(session.id);
  return reply(response, 200, { success: true, message: 'Agent deleted', agentId: session.id });
}

const server = http.createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (text) => { body += text; });
  request.on('end', () => route(request, response, body));
});

server.listen(0, '127.0.0.1', 1024, () => console.log(server.address().port));
process.stdin.resume().on('end', () => process.exit(0));
