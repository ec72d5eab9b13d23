// Who did what when, as bars and arrows: pure, from events.

export const ARROWS = 150;
const CALM = 20_000; // a gap longer than this, in ms, is drawn shorter than it was
const BUCKETS = 24;
const MIDDLE = new Set(['assistant_message', 'tool_start', 'tool_end', 'turn_end', 'wait', 'permission_request', 'file_changed', 'usage']);

class Lane {
  constructor(id) {
    Object.assign(this, {id, bars: [], open: null, calls: new Map(), overs: [], marks: [], at: 0});
  }

  begin(kind, at, word = '') {
    this.finish(at);
    this.open = {kind, from: at, to: at, word};
  }

  finish(at) {
    if (!this.open) return;
    this.open.to = at;
    if (at > this.open.from) this.bars.push(this.open);
    this.open = null;
  }

  cover(over, at) {
    over.to = at;
    this.bars.push(over);
    this.overs = this.overs.filter((one) => one !== over);
  }

  uncover(test, at) {
    for (const over of this.overs.filter(test)) this.cover(over, at);
  }
}

export function traceLanes(events) {
  const lanes = new Map();
  const arrows = [];
  const start = events.length ? Date.parse(events[0].ts) : 0;
  let at = start;
  const cut = events.length > 0 && events[0].seq > 1;
  const laneOf = (id) => {
    if (!lanes.has(id)) lanes.set(id, new Lane(id));
    return lanes.get(id);
  };
  for (const event of events) {
    at = Math.max(at, Date.parse(event.ts) || at);
    const {agent_id: agent, type, data} = event;
    if (type === 'message' && (data.from !== 'user' || !data.origin || data.origin === 'user')) {
      arrows.push({seq: event.seq, at, from: String(data.from), to: String(data.to), kind: String(data.kind)});
      if (data.from !== 'user') laneOf(String(data.from));
    }
    if (type === 'session_resumed') for (const lane of lanes.values()) closeLane(lane, lane.at || at);
    if (!agent) continue;
    const lane = laneOf(agent);
    // A window of the log may begin in the middle of a turn.
    if (cut && !lane.at && MIDDLE.has(type)) {
      lane.turn = event.turn;
      lane.begin('work', start);
    }
    follow(lane, event, at);
    lane.at = at;
  }
  return {lanes, arrows, start, end: at};
}

function closeLane(lane, at) {
  lane.uncover(() => true, at);
  lane.finish(at);
  lane.calls.clear();
  lane.turn = 0;
}

function follow(lane, {type, turn, data, seq}, at) {
  if (type === 'turn_start') {
    closeLane(lane, at);
    lane.turn = turn;
    lane.begin('work', at);
  } else if (type === 'turn_end') {
    closeLane(lane, at);
    if (data.status !== 'completed') lane.marks.push({at, kind: 'failed', word: String(data.status), seq});
  } else if (type === 'agent_ended') {
    closeLane(lane, at);
    lane.ended = at;
  } else if (type === 'tool_start') {
    lane.calls.set(data.id, data.name);
    if (lane.open?.kind !== 'tool') lane.begin('tool', at, String(data.name));
  } else if (type === 'tool_end') {
    lane.uncover((over) => over.call === data.id, at);
    lane.calls.delete(data.id);
    if (!data.ok) lane.marks.push({at, kind: 'bad', word: String(data.name), seq});
    if (!lane.calls.size) lane.begin('work', at);
    else if (lane.open) lane.open.word = String([...lane.calls.values()].pop());
  } else if (type === 'wait') {
    lane.overs.push({kind: 'waits', from: at, to: at, call: data.call_id, word: String(data.on), until: Date.parse(data.deadline) || 0});
  } else if (type === 'permission_request') {
    lane.overs.push({kind: 'asks', from: at, to: at, call: data.call_id, word: String(data.tool), until: Date.parse(data.deadline) || 0});
  } else if (type === 'permission_decision') {
    lane.uncover((over) => over.kind === 'asks' && over.call === data.call_id, at);
  }
}

// Time to place: time in which something happens is as long as it was, quiet time is shortened.
export function makeScale(events, from, until) {
  const stops = [from];
  for (const event of events) {
    const at = Date.parse(event.ts);
    if (at > stops[stops.length - 1] && at < until) stops.push(at);
  }
  if (until > stops[stops.length - 1]) stops.push(until);
  const places = [0];
  for (let index = 1; index < stops.length; index += 1) {
    const gap = stops[index] - stops[index - 1];
    places.push(places[index - 1] + (gap <= CALM ? gap : CALM * (1 + Math.log2(gap / CALM) / 2)));
  }
  const size = places[places.length - 1] || 1;
  const find = (list, value) => {
    let low = 0, high = list.length - 1;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (list[middle] <= value) low = middle;
      else high = middle;
    }
    return low;
  };
  const along = (a, b, value) => {
    if (a.length < 2) return 0;
    const clipped = Math.min(Math.max(value, a[0]), a[a.length - 1]);
    const index = find(a, clipped);
    const share = (clipped - a[index]) / (a[index + 1] - a[index] || 1);
    return b[index] + share * (b[index + 1] - b[index]);
  };
  return {place: (at) => along(stops, places, at) / size, moment: (share) => along(places, stops, share * size)};
}

// How much happened before the arrows begin: for each agent, counts in as many buckets.
export function countOlder(events, before) {
  const older = events.filter((event) => Date.parse(event.ts) < before && event.agent_id);
  if (!older.length) return null;
  const first = older[0].seq, last = older[older.length - 1].seq + 1;
  const rows = new Map();
  let most = 1;
  for (const event of older) {
    const bucket = Math.floor(((event.seq - first) / (last - first)) * BUCKETS);
    if (!rows.has(event.agent_id)) rows.set(event.agent_id, new Array(BUCKETS).fill(0));
    const row = rows.get(event.agent_id);
    row[bucket] += 1;
    most = Math.max(most, row[bucket]);
  }
  return {rows, most, buckets: BUCKETS};
}
