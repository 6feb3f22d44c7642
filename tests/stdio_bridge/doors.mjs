/** Runs cases through the npm package: `node doors.mjs PACKAGE` reads them from stdin, all at once. */

import { readFileSync } from 'node:fs';

const { LobuProvider } = await import(process.argv[2]);
const responses = await Promise.all(
  JSON.parse(readFileSync(0, 'utf8')).map(({ options, prompt, context }) =>
    new LobuProvider(options).callApi(prompt, context)),
);
process.stdout.write(JSON.stringify(responses));
