// Who does what now: the same fold as records/board.py, over the same logs (tests/logs), with the same result.
// `reduce` is pure. What it does not know, and what has another shape than the one we write, changes nothing.

const SUBJECT = 200;
const TEXT = 500;
const STEPS = 50;
const FILES = 100;
const SUBJECTS = ['command', 'path', 'pattern', 'name', 'identifier', 'query', 'url'];
const TOKENS = ['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'];

const noUsage = () => Object.fromEntries(TOKENS.map((name) => [name, 0]));

export function emptyBoard() {
  return {
    seq: 0, id: '', name: '', workspace: '', version: '', started: '', updated: '', parent: '', forked_at: 0,
    mode: '', state: 'done', halted: false, agents: [], questions: [], owed: [], budget: null, files: [],
    usage: noUsage(), cost_usd: 0, unpriced: 0,
    counts: {messages: 0, turns: 0, calls: 0, failed_calls: 0, questions: 0, denials: 0, file_changes: 0,
      compactions: 0, errors: 0, resumes: 0},
    error: null,
  };
}

export function reduce(board, event) {
  if (event.seq === null || event.seq === undefined) return board;
  const next = {...board, seq: event.seq, updated: event.ts};
  const known = Object.hasOwn(FOLDS, event.type) ? FOLDS[event.type] : null;
  const data = known && read(known[0], event.data);
  if (!data) return next;
  known[1](next, event, data, findAgent(next, event.agent_id));
  next.state = findState(next);
  return next;
}

export function foldEvents(events, board = emptyBoard()) {
  for (const event of events) board = reduce(board, event);
  return board;
}

// Shapes: what is read of an event's data. A field that is absent has its default; one of another type makes
// the whole event unreadable, as in records/glimpses.py.
class Wrong extends Error {}
const REQUIRED = Symbol('required');
const check = (test, fallback) => ({fallback, take(value) { if (!test(value)) throw new Wrong(); return value; }});
const isText = (value) => typeof value === 'string';
const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const text = check(isText, '');
const must = check(isText, REQUIRED);
const maybeText = check((value) => value === null || isText(value), null);
const whole = (fallback = 0) => check(Number.isInteger, fallback);
const flag = check((value) => typeof value === 'boolean', false);
const maybeNumber = check((value) => value === null || isNumber(value), null);
const texts = check((value) => Array.isArray(value) && value.every(isText), []);
const any = check(() => true, null);
const nested = (fields, needed = false) => ({fields, fallback: needed ? REQUIRED : undefined, take: (value) => decode(fields, value)});

function decode(fields, value) {
  if (!isMap(value)) throw new Wrong();
  const found = {};
  for (const name in fields) {
    const field = fields[name];
    if (Object.hasOwn(value, name)) found[name] = field.take(value[name]);
    else if (field.fallback === REQUIRED) throw new Wrong();
    else found[name] = field.fields ? decode(field.fields, {}) : field.fallback;
  }
  return found;
}

function read(fields, value) {
  try {
    return decode(fields, value);
  } catch (problem) {
    if (problem instanceof Wrong) return null;
    throw problem;
  }
}

const tokens = Object.fromEntries(TOKENS.map((name) => [name, whole()]));
const model = {provider: text, model: text, id: text, context_window: whole(128000)};
const session = {id: text, name: text, workspace: text, version: text, options: nested({mode: text})};
const changed = {name: text, mode: text};
const label = (found) => found.id || `${found.provider}/${found.model}`;

const cut = (value, length) => (value.length <= length ? value : Array.from(value).slice(0, length).join(''));
const addUsage = (a, b) => Object.fromEntries(TOKENS.map((name) => [name, a[name] + b[name]]));
const findAgent = (board, id) => board.agents.find((row) => row.id === id);

function changeRow(board, id, changes) {
  const at = board.agents.findIndex((row) => row.id === id && row.status !== 'ended');
  if (at < 0) return;
  board.agents = board.agents.slice();
  board.agents[at] = {...board.agents[at], ...changes};
}

function count(board, more) {
  board.counts = {...board.counts};
  for (const name in more) board.counts[name] += more[name];
}

function findState(board) {
  if (board.questions.length) return 'waiting';
  let last = '', unread = false;
  for (const row of board.agents) {
    if (row.status === 'ended') continue;
    if (row.status !== 'idle' || (row.unread.length && !board.halted)) return 'running';
    last = last || row.last_turn || 'none';
    unread = unread || row.unread.length > 0;
  }
  if (last === 'failed' || last === 'capped') return 'failed';
  return unread || last === 'interrupted' || last === 'timed_out' ? 'interrupted' : 'done';
}

function forgetProcess(board) {
  board.agents = board.agents.map((row) => (row.waits.length ? {...row, waits: []} : row));
  board.questions = [];
  board.owed = board.owed.filter((letter) => letter.kind !== 'ask');
}

function closeLetters(board, ids) {
  for (const id of ids) {
    const at = board.owed.findIndex((one) => one.id === id);
    if (at < 0) continue;
    const row = findAgent(board, board.owed[at].from);
    board.owed = board.owed.filter((_, index) => index !== at);
    if (row) changeRow(board, row.id, {waits: row.waits.filter((wait) => wait.message_id !== id)});
  }
}

function dropWaits(board, id) {
  const row = findAgent(board, id);
  const asked = new Set(row ? row.waits.map((wait) => wait.message_id) : []);
  changeRow(board, id, {waits: []});
  board.questions = board.questions.filter((question) => question.agent_id !== id);
  board.owed = board.owed.filter((letter) => !asked.has(letter.id));
}

function inWords(value) { // as Python says it
  if (isText(value)) return value;
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}

const isMap = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

export function findSubject(args) {
  if (!isMap(args)) return '';
  const key = SUBJECTS.find((name) => Object.hasOwn(args, name) && isText(args[name]));
  return key ? cut(args[key], SUBJECT) : '';
}

function readPlan(args) {
  if (!isMap(args) || !Array.isArray(args.steps)) return [];
  const part = (step, name) => (Object.hasOwn(step, name) ? inWords(step[name]) : '');
  return args.steps.slice(0, STEPS).filter(isMap)
    .map((step) => ({text: cut(part(step, 'text'), SUBJECT), status: part(step, 'status')}));
}

const FOLDS = {
  session_started: [session, (board, event, data) => {
    const {id, name, workspace, version} = data;
    Object.assign(board, {id, name, workspace, version, started: event.ts, mode: data.options.mode});
  }],
  session_resumed: [session, (board, event, data) => {
    count(board, {resumes: 1});
    forgetProcess(board);
    board.version = data.version || board.version;
    board.mode = data.options.mode || board.mode;
    board.halted = false;
  }],
  renamed: [changed, changeSession],
  mode_changed: [changed, changeSession],
  forked: [{session_id: text, at: whole()}, (board, event, data) => {
    forgetProcess(board);
    board.parent = data.session_id;
    board.forked_at = data.at;
  }],
  agent_started: [{agent: nested({id: must, type: text, name: text, role: text, model: nested(model), delegator_id: text}, true)},
    (board, event, {agent}) => {
      const row = {
        id: agent.id, type: agent.type, name: agent.name, role: agent.role, model: label(agent.model),
        delegator_id: agent.delegator_id, status: 'idle', since: event.ts, stopping: false, turn: 0, steps: 0,
        opened_by: '', last_turn: '', ended: '', reason: '', unread: [], calls: [], waits: [], plan: [],
        usage: noUsage(), cost_usd: 0, unpriced: 0, context: 0, window: agent.model.context_window, error: null,
      };
      board.agents = [...board.agents.filter((one) => one.id !== row.id), row];
    }],
  agent_ended: [{status: text, reason: text}, (board, event, data) => {
    const id = event.agent_id;
    changeRow(board, id, {
      status: 'ended', since: event.ts, ended: data.status, reason: cut(data.reason, TEXT), stopping: false,
      opened_by: '', unread: [], calls: [], waits: [],
    });
    board.agents = board.agents.map((row) => (
      row.waits.some((wait) => wait.on === id) ? {...row, waits: row.waits.filter((wait) => wait.on !== id)} : row));
    board.questions = board.questions.filter((question) => question.agent_id !== id);
    board.owed = board.owed.filter((letter) => letter.to !== id);
  }],
  message: [{id: must, kind: text, from: text, to: text, correlation_id: maybeText}, (board, event, data) => {
    const letter = {id: data.id, kind: data.kind, from: data.from, to: data.to, since: event.ts};
    count(board, {messages: 1});
    const row = findAgent(board, data.to);
    if (row && row.status !== 'ended') changeRow(board, row.id, {unread: [...row.unread, letter]});
    if ((data.kind === 'ask' || data.kind === 'task') && data.from !== 'user') board.owed = [...board.owed, letter];
    else if (data.kind === 'response' && data.correlation_id) closeLetters(board, [data.correlation_id]);
  }],
  delivery: [{ids: texts, state: text}, (board, event, data, row) => {
    if (row) changeRow(board, row.id, {unread: row.unread.filter((letter) => !data.ids.includes(letter.id))});
    if (data.state !== 'delivered') closeLetters(board, data.ids);
  }],
  wait: [{on: must, message_id: must, deadline: text, call_id: maybeText}, (board, event, data, row) => {
    if (!row || row.opened_by === '' || row.stopping) return;
    const wait = {on: data.on, message_id: data.message_id, call_id: data.call_id || '', deadline: data.deadline, since: event.ts};
    changeRow(board, row.id, {waits: [...row.waits, wait]});
  }],
  control: [{action: must, target: text}, (board, event, data) => {
    const halt = data.action === 'halt';
    for (const row of board.agents) {
      if (!halt && row.id !== data.target) continue;
      if (data.action === 'destroy') changeRow(board, row.id, {ended: 'destroyed'});
      if (row.opened_by) {
        changeRow(board, row.id, {stopping: true});
        dropWaits(board, row.id);
      }
    }
    board.halted = board.halted || halt;
  }],
  turn_start: [{message_id: text}, (board, event, data) => {
    dropWaits(board, event.agent_id || '');
    count(board, {turns: 1});
    board.halted = false;
    changeRow(board, event.agent_id, {
      status: 'streaming', since: event.ts, turn: event.turn, steps: 0, opened_by: data.message_id, calls: [],
      error: null, stopping: false,
    });
  }],
  turn_end: [{status: text}, (board, event, data, row) => {
    if (!row) return;
    dropWaits(board, row.id);
    closeLetters(board, board.owed.filter((one) => one.id === row.opened_by && one.kind === 'ask').map((one) => one.id));
    changeRow(board, row.id, {
      status: 'idle', since: event.ts, last_turn: data.status, opened_by: '', calls: [], stopping: false,
    });
  }],
  assistant_message: [{message: nested({usage: nested(tokens)}, true)}, (board, event, data, row) => {
    if (!row) return;
    const {usage} = data.message;
    const used = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens + usage.output_tokens;
    changeRow(board, row.id, {steps: row.steps + 1, context: used || row.context, since: event.ts});
  }],
  tool_start: [{id: must, name: text, args: any}, (board, event, data, row) => {
    if (!row) return;
    const plan = data.name === 'update_plan' ? readPlan(data.args) : [];
    const call = {id: data.id, name: data.name, subject: findSubject(data.args), since: event.ts, plan};
    changeRow(board, row.id, {status: 'executing_tools', since: event.ts, calls: [...row.calls, call]});
  }],
  tool_end: [{id: must, name: text, ok: flag}, (board, event, data, row) => {
    count(board, {calls: 1, failed_calls: data.ok ? 0 : 1});
    board.questions = board.questions.filter((one) => !data.id || one.call_id !== data.id);
    const call = row && row.calls.find((one) => one.id === data.id);
    if (!call) return;
    const calls = row.calls.filter((one) => one.id !== data.id);
    const asking = calls.some((one) => one.name === 'ask_agent');
    const over = row.waits.filter((wait) => wait.call_id === data.id || (!wait.call_id && !asking)).map((wait) => wait.message_id);
    changeRow(board, row.id, {
      status: calls.length ? 'executing_tools' : 'streaming', since: event.ts, calls,
      waits: row.waits.filter((wait) => !over.includes(wait.message_id)),
      plan: call.name === 'update_plan' && data.ok ? call.plan : row.plan,
    });
    board.owed = board.owed.filter((letter) => !over.includes(letter.id));
  }],
  usage: [{usage: nested(tokens), cost_usd: maybeNumber}, (board, event, data, row) => {
    const cost = data.cost_usd || 0;
    const unpriced = data.cost_usd === null ? 1 : 0;
    if (row) {
      changeRow(board, row.id, {
        usage: addUsage(row.usage, data.usage), cost_usd: row.cost_usd + cost, unpriced: row.unpriced + unpriced,
      });
    }
    board.usage = addUsage(board.usage, data.usage);
    board.cost_usd += cost;
    board.unpriced += unpriced;
  }],
  budget: [{limit_usd: maybeNumber, spent_usd: maybeNumber}, (board, event, data) => {
    if (data.limit_usd !== null) board.budget = data;
  }],
  permission_request: [{id: must, call_id: text, tool: text, text, adds: text, reason: text, digest: text, deadline: text},
    (board, event, data, row) => {
      count(board, {questions: 1});
      if (row && row.stopping) return;
      board.questions = [...board.questions, {
        id: data.id, seq: event.seq || 0, agent_id: event.agent_id || '', call_id: data.call_id, tool: data.tool,
        text: cut(data.text, TEXT), adds: cut(data.adds, TEXT), reason: cut(data.reason, TEXT), digest: data.digest,
        deadline: data.deadline, since: event.ts,
      }];
    }],
  permission_decision: [{call_id: text, decision: text, request_id: text}, (board, event, data) => {
    count(board, {denials: data.decision === 'deny' ? 1 : 0});
    board.questions = board.questions.filter(
      (one) => one.id !== data.request_id && !(data.call_id && one.call_id === data.call_id));
  }],
  file_changed: [{path: must, call_id: text, after_sha256: text}, (board, event, data) => {
    const before = board.files.find((file) => file.path === data.path);
    const file = {
      path: data.path, agent_id: event.agent_id || '', call_id: data.call_id, changes: before ? before.changes + 1 : 1,
      removed: data.after_sha256 === '', since: event.ts,
    };
    board.files = [...board.files.filter((one) => one !== before), file].slice(-FILES);
    count(board, {file_changes: 1});
  }],
  compacted: [{tokens_after: whole(), window: whole()}, (board, event, data, row) => {
    count(board, {compactions: 1});
    if (row) changeRow(board, row.id, {context: data.tokens_after, window: data.window || row.window});
  }],
  rewound: [{}, (board, event) => changeRow(board, event.agent_id, {context: 0})],
  model_changed: [{model: nested(model, true)}, (board, event, data) => {
    changeRow(board, event.agent_id, {model: label(data.model), window: data.model.context_window});
  }],
  error: [{kind: text, message: text}, (board, event, data) => {
    const problem = {agent_id: event.agent_id || '', kind: data.kind, message: cut(data.message, TEXT), since: event.ts};
    count(board, {errors: 1});
    changeRow(board, event.agent_id, {error: problem});
    board.error = problem;
  }],
};

function changeSession(board, event, data) {
  board.mode = data.mode || board.mode;
  board.name = data.name || board.name;
}
