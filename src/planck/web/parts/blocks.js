// The conversation as blocks, in the order of the log: pure, so that a fresh load and a live stream give the same.

import {findSubject} from '../reducer.js';

const NOTES = new Set(['session_resumed', 'agent_started', 'agent_ended', 'compacted', 'forked', 'mode_changed',
  'model_changed', 'renamed', 'error', 'control', 'permission_decision', 'checked']);

export function buildBlocks(events) {
  const blocks = [];
  for (const event of events) addBlock(blocks, event);
  return blocks;
}

function findLast(blocks, test, depth = 400) {
  for (let at = blocks.length - 1, left = depth; at >= 0 && left > 0; at -= 1, left -= 1) {
    if (test(blocks[at])) return at;
  }
  return -1;
}

// Adds what an event says, in place; returns the text of a block that is finished by it, for those who listen.
export function addBlock(blocks, event) {
  const {seq, ts, agent_id: agent, turn, type} = event;
  const data = typeof event.data === 'object' && event.data !== null ? event.data : {};
  const base = {seq, ts, agent: agent || '', turn};
  switch (type) {
    case 'message': {
      // A report often repeats the last words of who reports: they are shown once.
      const at = data.kind === 'response' ? findLast(blocks, (one) => one.kind === 'said' && one.agent === data.from, 8) : -1;
      if (at >= 0 && blocks[at].text === data.text && !blocks[at].thinking) blocks[at] = {...blocks[at], repeated: true};
      blocks.push({...base, kind: data.from !== 'user' ? 'mail' : data.origin && data.origin !== 'user' ? 'told' : 'prompt', id: String(data.id), mail: String(data.kind),
        from: String(data.from), to: String(data.to), text: String(data.text ?? ''), origin: data.origin,
        images: Array.isArray(data.images) ? data.images.length : 0});
      return '';
    }
    case 'assistant_message': {
      const parts = Array.isArray(data.message?.parts) ? data.message.parts : [];
      const join = (kind) => parts.filter((part) => part?.type === kind).map((part) => String(part.text ?? '')).join(kind === 'text' ? '' : '\n');
      const text = join('text');
      const thinking = join('thinking');
      if (text || thinking) blocks.push({...base, kind: 'said', text, thinking});
      return text;
    }
    case 'tool_start':
      blocks.push({...base, kind: 'call', id: String(data.id), name: String(data.name), subject: findSubject(data.args), args: data.args, end: null, asked: null});
      return '';
    case 'tool_end': {
      const at = findLast(blocks, (one) => one.kind === 'call' && one.id === data.id);
      const end = {ok: Boolean(data.ok), output: String(data.output ?? ''), exit: data.exit_code ?? null, ms: data.duration_ms || 0,
        error: data.error?.kind || '', notice: data.notice || ''};
      if (at >= 0) blocks[at] = {...blocks[at], end};
      else blocks.push({...base, kind: 'call', id: String(data.id), name: String(data.name), subject: '', args: null, end, asked: null});
      return '';
    }
    case 'permission_request': {
      const at = findLast(blocks, (one) => one.kind === 'call' && one.id === data.call_id);
      if (at >= 0) blocks[at] = {...blocks[at], asked: {id: data.id, decision: ''}};
      return '';
    }
    case 'turn_start':
      blocks.push({...base, kind: 'turn', message: data.message_id, end: null, cost: 0, steps: 0, tokens: 0});
      return '';
    case 'usage': {
      const at = findLast(blocks, (one) => one.kind === 'turn' && one.agent === agent && one.turn === turn);
      if (at >= 0) {
        const {input_tokens: a = 0, output_tokens: b = 0, cache_read_tokens: c = 0, cache_write_tokens: d = 0} = data.usage || {};
        const one = blocks[at];
        blocks[at] = {...one, cost: one.cost === null || data.cost_usd === null ? null : one.cost + (data.cost_usd || 0), steps: one.steps + 1, tokens: one.tokens + a + b + c + d};
      }
      return '';
    }
    case 'turn_end': {
      const at = findLast(blocks, (one) => one.kind === 'turn' && one.agent === agent && one.turn === turn, 4000);
      const began = at >= 0 ? blocks[at] : null;
      const end = {status: String(data.status), ts};
      if (began) blocks[at] = {...began, end};
      blocks.push({...base, kind: 'end', status: String(data.status), text: String(data.text ?? ''), began});
      return '';
    }
    case 'rewound': {
      const to = Number(data.to);
      for (let at = blocks.length - 1; at >= 0 && blocks[at].seq > to; at -= 1) {
        if (blocks[at].agent === agent) blocks[at] = {...blocks[at], gone: true};
      }
      const last = blocks[blocks.length - 1];
      // Every agent is rewound by itself; that is said once.
      if (last?.kind === 'note' && last.type === 'rewound' && last.data.to === to) return '';
      blocks.push({...base, kind: 'note', type, data: {to}});
      return '';
    }
    default:
      if (type === 'permission_decision') {
        const at = findLast(blocks, (one) => one.kind === 'call' && one.id === data.call_id);
        if (at >= 0) {
          blocks[at] = {...blocks[at], asked: {id: data.request_id, decision: data.decision, scope: data.scope, reason: data.reason}};
          return '';
        }
      }
      if (NOTES.has(type)) blocks.push({...base, kind: 'note', type, data});
      return '';
  }
}
