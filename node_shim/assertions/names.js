/**
 * When a tool's name in a config means a tool that was called.
 *
 * Gateways write one tool in several ways: `lookup_order`, `mcp__shop__lookup_order`,
 * `lobu_lookup_order`. Case, separators and those prefixes do not count. Where both names carry a
 * server it must be the same one, however it is set off: `shop/lookup_order` is
 * `mcp__shop__lookup_order` too.
 */

/**
 * @param {string} wanted as the config writes it
 * @param {string} called as the gateway sent it
 * @param {boolean} exact compare them character by character
 */
export function sameName(wanted, called, exact = false) {
  if (exact) return wanted === called;
  if (whole(wanted) === whole(called)) return true;
  const [server, tool] = parts(wanted);
  const [otherServer, otherTool] = parts(called);
  return tool === otherTool && (!server || !otherServer || server === otherServer);
}

/** A name without the prefixes of server and gateway. */
export function bareName(name) {
  const tool = name.split('__').at(-1) || name;
  return tool.replace(/^lobu[-_]/i, '') || tool;
}

/** Server and tool together, without case and separators. */
const whole = (name) => plain(name.replace(/^mcp[-_. /:]+/i, ''));

/** The server, if the name has one, and the tool, both without case and separators. */
function parts(name) {
  const found = name.split('__');
  const server = found.length > 1 && found.at(-1) ? found.at(-2) : '';
  return [server.toLowerCase() === 'mcp' ? '' : plain(server), plain(bareName(name))];
}

function plain(text) {
  return text.toLowerCase().replace(/[-_. /:]+/g, '') || text;
}
