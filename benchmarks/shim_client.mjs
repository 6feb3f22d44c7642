// lobu-provider through its npm package, as promptfoo drives it: many calls of one provider.
//
//   LOBU_PYTHON=python node benchmarks/shim_client.mjs '{"url": ..., "agent": ..., ...}'
//
// The CPU time is that of this process and of its Python child (read from /proc, so on Linux only);
// the memory is the child's peak. Prints what it measured as one line of JSON.

import { readFileSync, readdirSync } from 'node:fs';

import { LobuProvider } from '../node_shim/index.js';

const { url, agent, conversations, turns, concurrency, warmup } = JSON.parse(process.argv[2]);
const config = { agent, gateway: url };
const env = { LOBU_TOKEN: 'user-token' }; // where the README says that it belongs
const provider = new LobuProvider({ id: 'lobu', config, env });
const transcript = Array.from({ length: turns }, (_, index) => `message ${index + 1}`);

async function run(count, sums) {
  let left = count;
  async function oneAfterAnother() {
    while (left > 0) {
      left -= 1;
      const { error, metadata } = await provider.callApi('', { vars: { transcript } });
      if (error) throw new Error(error);
      for (const turn of metadata.turns) sums.characters += turn.output.length;
      sums.toolCalls += metadata.toolCalls.length;
    }
  }
  await Promise.all(Array.from({ length: concurrency }, oneAfterAnother));
  return sums;
}

function child() {
  const [pid] = readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1].split(' ')[1] === `${process.pid}`;
    } catch {
      return false; // it ended while we looked
    }
  });
  return pid;
}

function cpuSeconds(pid) {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (userCPUTime + systemCPUTime) / 1e6 + (Number(fields[11]) + Number(fields[12])) / 100;
}

await run(warmup, { characters: 0, toolCalls: 0 });
const pid = child();
const started = performance.now();
const before = cpuSeconds(pid);
const sums = await run(conversations, { characters: 0, toolCalls: 0 });
const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
console.log(
  JSON.stringify({
    wall_s: (performance.now() - started) / 1000,
    cpu_s: cpuSeconds(pid) - before,
    peak_mb: Number(peak) / 1024,
    characters: sums.characters,
    tool_calls: sums.toolCalls,
  }),
);
process.exit(0);
