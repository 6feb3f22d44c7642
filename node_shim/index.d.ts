export * from './assertions.js';

/** What stands under `config:` of a Lobu provider in promptfooconfig.yaml. */
export interface LobuProviderConfig {
  /** Id of the agent at the gateway. Falls back to `LOBU_AGENT`. Required. */
  agent?: string | null;
  /**
   * Address of the gateway, or `script:demo` / `script:FILE.json` for the embedded one. Falls back
   * to `LOBU_GATEWAY`.
   * @default 'http://localhost:8787'
   */
  gateway?: string | null;
  /**
   * Bearer token. Works, but promptfoo stores it in its database: prefer the environment variable
   * `LOBU_TOKEN`, or one of `tokenEnv`, `tokenFile` and `tokenCommand`.
   */
  token?: string | null;
  /** Name of the environment variable that holds the token. */
  tokenEnv?: string | null;
  /** File that holds the token; relative to the config file's folder. */
  tokenFile?: string | null;
  /**
   * Command that prints the token. Run without a shell, at most 10 s, once in five minutes.
   * @example 'lobu token --raw'
   */
  tokenCommand?: string | string[] | null;
  /**
   * Organisation slug, sent as `x-lobu-org` for a token that belongs to several. Falls back to
   * `LOBU_ORG`.
   */
  org?: string | null;
  /**
   * Extra request headers, e.g. for an auth proxy in front of the gateway. A value is a string or
   * `{env: NAME}`. Values are treated as secrets.
   */
  headers?: Record<string, string | { env: string }> | null;
  /** Sent as given. Known gateways accept only `'claude'`; it does not select a model provider. */
  provider?: string | null;
  /** Model for the session, as `PROVIDER/MODEL`. Older gateways ignore it. */
  model?: string | null;
  /**
   * Time limit of one call in milliseconds, over session, all turns and clean-up.
   * @default 120000
   */
  timeoutMs?: number | null;
  /**
   * Use this thread instead of a fresh one per call. The agent remembers what was said in it before,
   * and the session is not deleted.
   */
  thread?: string | null;
  /**
   * Leave the session at the gateway when the call ends.
   * @default false
   */
  keepSession?: boolean | null;
  /**
   * Sent to the gateway as Lobu's own provider does. It protects nothing: tools run for real and
   * memory is saved.
   * @default true
   */
  dryRun?: boolean | null;
  /**
   * Fill `{{name}}` in transcript turns from the test's vars; promptfoo does not render inside lists.
   * @default false
   */
  renderTurns?: boolean | null;
  /**
   * What a plain-string `vars.transcript` means: `'error'` (promptfoo split a list), or `'prompt'`
   * (ignore it and send the prompt).
   * @default 'error'
   */
  stringTranscript?: 'error' | 'prompt' | null;
  /**
   * More tool names whose `result_summary.snippets` count as retrieved context, beside
   * `search_memory` and `lobu_search_memory`.
   * @default []
   */
  retrievalTools?: string[] | null;
  /**
   * PEM file with the certificates of a private authority that signed the gateway's; relative to
   * the config file's folder. Trusted beside the usual ones.
   */
  caFile?: string | null;
  /**
   * Time limit of one turn in milliseconds. None by default: the turns share timeoutMs.
   */
  turnTimeoutMs?: number | null;
  /**
   * How long a turn may go without any event of its own, in milliseconds. The gateway's pings do
   * not count.
   * @default 120000
   */
  idleTimeoutMs?: number | null;
  /**
   * How often a case is repeated on a fresh thread when gateway, network or worker failed; never
   * after an answer, a time limit or a fault of yours. What the failed try did stays done.
   * @default 0
   */
  retries?: number | null;
  /**
   * Answers to the agent's question cards, as PATTERN: OPTION. A pattern is a regular expression,
   * searched in the question without regard to case; the first that fits is answered with, as the
   * next message.
   */
  answers?: Record<string, string> | null;
  /**
   * Name or names of tools after whose call the conversation ends. The running turn may go on at
   * the gateway.
   */
  stopOnTool?: string | string[] | null;
  /**
   * One tool call more than this ends the conversation with the error 'limit'. The running turn may
   * go on at the gateway.
   */
  maxToolCalls?: number | null;
  /**
   * Text sent beside each message. Newer gateways then leave out their own digest of the
   * workspace, which makes answers depend on its state; any short text will do. 2,048 characters
   * count.
   */
  ephemeralContext?: string | null;
  /**
   * Whether a known failure sentence of the gateway in place of an answer makes an error.
   * @default true
   */
  failureTexts?: boolean | null;
  /**
   * Take a turn that ends without any text for an answer. By default it is an error, unless a tool
   * was called or a card asks for a person.
   * @default false
   */
  allowEmpty?: boolean | null;
  /**
   * How many calls of one process talk to the gateway at once; others wait, and their time limit
   * waits with them. For the npm package: the Python file makes one call at a time in each
   * process.
   */
  maxConcurrentSessions?: number | null;
  /**
   * Least time between the starts of two sessions of one process in milliseconds; 250 with
   * maxConcurrentSessions, else 0.
   */
  sessionStartGapMs?: number | null;
  /**
   * Most kilobytes of metadata in a row: promptfoo's database grows by five times that. Long texts
   * are cut beyond it, with a mark, and metadata.truncated says which; the entry of a tool call is
   * never dropped.
   * @default 256
   */
  maxMetadataKb?: number | null;
  /**
   * Spans for promptfoo's `trajectory:*` and `trace-*` assertions. `'auto'`: made when promptfoo's
   * tracing is on; where they do not arrive, a test with such an assertion is an error, and others
   * get a warning. `'required'`: no row is green without them. `'best-effort'`: never more than a
   * warning. `'off'`: none, and such an assertion is an error.
   * @default 'auto'
   */
  tracing?: 'auto' | 'required' | 'best-effort' | 'off' | false | null;
  /**
   * Where the spans are posted as OTLP/JSON. Not used while promptfoo's own tracer takes them in
   * process, which it does whenever its tracing is on.
   * @default 'http://127.0.0.1:4318/v1/traces'
   */
  otlpEndpoint?: string | null;
  /**
   * A second address that the same spans are posted to as OTLP/JSON, e.g. that of an observability
   * service. A failure there is never more than a warning.
   */
  otlpBackend?: string | null;
  /** Request headers for `otlpBackend`, as `NAME: {env: VARIABLE}`. Treated as secrets. */
  otlpBackendHeaders?: Record<string, { env: string }> | null;
  /**
   * What spans tell of a tool call's arguments: all, their keys with the values hidden, or nothing.
   * Secrets of the call are always hidden.
   * @default 'full'
   */
  traceArguments?: 'full' | 'redacted' | 'none' | null;
  /**
   * Folder of recorded conversations, relative to the config file's folder. The variable
   * LOBU_CASSETTES wins over it.
   */
  cassettes?: string | null;
  /**
   * record: one cassette a row. replay: answer from the cassettes, without gateway, token or
   * network. auto: where the variable CI is set, replay what has a cassette; all else is live.
   * LOBU_CASSETTE_MODE wins over it.
   * @default 'off'
   */
  cassetteMode?: 'off' | 'record' | 'replay' | 'auto' | false | null;
  /** Folder below `cassettes`, to keep apart e.g. what staging and production said. */
  cassetteSet?: string | null;
  /** Replay in the recorded time divided by this; unset, nothing is waited for. */
  cassetteSpeed?: number | null;
  /** What else to mask in cassettes: regular expressions, and JSON paths such as $.input.email. */
  cassetteRedact?: string[] | null;
  /**
   * The Python that has lobu-provider: a path relative to the current folder, or a name on PATH.
   * Without it: `LOBU_PYTHON`, `PROMPTFOO_PYTHON`, an active virtual environment, a `.venv` beside
   * the config, a `.venv` in the current folder, then `python3`.
   */
  pythonExecutable?: string | null;
  /** The config file's folder; promptfoo sets it. */
  basePath?: string;
  /** promptfoo's own keys (`maxRetries`, ...) may stand beside ours. */
  [promptfooKey: string]: unknown;
}

/** What promptfoo gives a provider's constructor. */
export interface LobuProviderOptions {
  /**
   * The provider's id.
   * @default 'lobu:AGENT'
   */
  id?: string;
  config?: LobuProviderConfig;
  /** The config file's `env:` block; read before the process environment. */
  env?: Record<string, unknown>;
}

/** Why a call failed. */
export interface LobuFailure {
  /** E.g. `'config'`, `'auth'`, `'timeout'`, `'stream_lost'`; the Python README lists all. */
  code: string;
  /** Where to look: what you wrote, the infrastructure, or the agent. */
  class: 'config' | 'infrastructure' | 'agent';
  /** Where the call was. */
  phase: 'config' | 'create' | 'connect' | 'send' | 'turn' | 'delete';
  /** Whether running the same case again may succeed. */
  retryable: boolean;
  /** The turn it happened in, from 1; absent before the first. */
  turn?: number;
}

export interface LobuToolCall {
  name: string;
  /** The turn it belongs to, from 1. */
  turn: number;
  toolCallId?: string;
  input?: unknown;
  isError?: boolean;
  result_summary?: unknown;
  [more: string]: unknown;
}

/** What was cut of a row to keep it small. */
export interface LobuTruncated {
  /** `maxMetadataKb` in bytes, and how many the metadata had. */
  limitBytes?: number;
  bytes?: number;
  /** What was shortened in the metadata, e.g. `'toolCalls[].input'`. */
  cut?: string[];
  /** Entries alone take more than the limit, and are kept. */
  stillOver?: boolean;
  /** Only when `output` itself was cut. */
  output?: { limitCharacters: number; characters: number };
}

/** An attempt that failed and was repeated; what it did stays done. */
export interface LobuFailedAttempt {
  /** Counted from 1. */
  attempt: number;
  thread?: string;
  /** The code of its failure. */
  error: string;
  turnsCompleted: number;
  /** The names of the tools that it called. */
  toolCalls: string[];
}

/** What assertions see as `context.providerResponse.metadata`. */
export interface LobuMetadata {
  agent?: string;
  thread?: string;
  sessionId?: string;
  gatewaySessionId?: string;
  traceId?: string;
  /** Every tool call of every turn, in order. */
  toolCalls: LobuToolCall[];
  /** Texts found by retrieval tools, joined by blank lines; absent when nothing was found. */
  retrievedContext?: string;
  retrievedSnippets: string[];
  turns: Array<Record<string, unknown>>;
  /** Cards and notices. None is approved or opened; a question is answered only by `answers`. */
  interactions: Array<Record<string, unknown>>;
  /** The conversation as JSON text. */
  messages: string;
  warnings: string[];
  run?: { ci: boolean; commit?: string; repeatIndex?: number };
  /** The stream had a gap and no final text made it good: text may be missing. */
  possiblyTruncated?: boolean;
  /** What was shortened, when the metadata was over `maxMetadataKb` or the output too long. */
  truncated?: LobuTruncated;
  /** Only with `retries`: the failed attempts before this one. */
  attempts?: LobuFailedAttempt[];
  /** Only on failure. */
  error?: LobuFailure;
  /** Only on failure: keeps promptfoo from replaying the conversation. */
  rateLimitKind?: 'quota';
}

export interface LobuProviderResponse {
  /** The last answer; what had arrived of it on failure. */
  output: string;
  /** Only on failure: `'[code] what happened and what to do'`. */
  error?: string;
  /** For promptfoo's next call: the thread, with `~call2`, `~call3`, ... from its second call on. */
  sessionId?: string;
  /** From creating the session to the end of the last turn. */
  latencyMs?: number;
  metadata: LobuMetadata;
}

/**
 * A promptfoo provider for one Lobu agent: `id: 'package:@lobu/promptfoo-provider:LobuProvider'`.
 *
 * @example
 * const provider = new LobuProvider({ config: { agent: 'support-agent', gateway: 'script:demo' } });
 * const { output, metadata } = await provider.callApi('How do refunds work?');
 */
export class LobuProvider {
  constructor(options?: LobuProviderOptions);

  /** Set by promptfoo after it has made the provider. */
  label?: string;

  id(): string;

  /**
   * Hold the conversation that a test asks for. Calls run concurrently.
   *
   * @param prompt the rendered prompt; ignored when `vars.transcript` holds turns
   * @param context promptfoo's context: `vars`, `test`, ...
   * @param callOptions `abortSignal` stops the call: its session is deleted and what arrived returned
   * @returns the response, with `error` on failure; it never rejects
   */
  callApi(
    prompt: string,
    context?: Record<string, unknown>,
    callOptions?: { abortSignal?: AbortSignal },
  ): Promise<LobuProviderResponse>;

  /** End the Python process if no other provider uses it; a later call starts a new one. */
  cleanup(): Promise<void>;

  /**
   * Id, label and config, without token, headers, token command and environment; `hidden` says
   * whether there are options that are not shown.
   */
  toJSON(): { id: string; label?: string; package: string; hidden: boolean; config: Record<string, unknown> };
}
