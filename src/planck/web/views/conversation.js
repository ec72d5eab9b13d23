// What was said and done, in order; the newest part of it is drawn, older parts when they are scrolled to.

import {html, useEffect, useLayoutEffect, useMemo, useRef, useState} from '../vendor/preact.js';
import {diffTexts, countRows, Diff} from '../diff.js';
import {Markdown} from '../markdown.js';
import {brief, exact, known, money, plain, seen, short, t, took} from '../words.js';
import {Badge, Changed, Empty, Folded, Mark, Name, Pending, Time, Who, into, memo, submitted} from '../parts/common.js';
import {Composer} from '../parts/composer.js';
import {isBusy, nameOf} from '../parts/status.js';

const DRAWN = 100;
const STEP = 80;
const MOST = 320;
const NEAR = 60;
const SUBJECT = 64;
const TEAM_TOOLS = new Set(['ask_agent', 'delegate_task', 'send_response']); // their words stand in the messages
const READERS = new Set(['read', 'glob', 'grep', 'list_dir', 'load_skill', 'list_skills', 'list_team', 'list_models']);

export function ConversationView({room, now, act, seq = null, agent = '', base = '', words, facts}) {
  const [only, setOnly] = useState(agent);
  const [find, setFind] = useState('');
  const [to, setTo] = useState(agent);
  useEffect(() => { if (agent) { setOnly(agent); setTo(agent); } }, [agent]);
  if (room.status !== 'ready') return html`<${Pending} of=${room} retry=${act && (() => act.reopen())} />`;
  const {board} = room;
  const busy = board.agents.some(isBusy);
  const chips = board.agents.filter((row) => row.status !== 'ended' || only === row.id);
  return html`<div class="conversation">
    <div class="filters"><div class="chips" role="group" aria-label=${t('conv.filter')}>
      <button class="chip" aria-pressed=${!only} onClick=${() => setOnly('')}>${t('conv.all')}</button>
      ${chips.map((row) => html`<button class="chip" key=${row.id} aria-pressed=${only === row.id} onClick=${() => setOnly(only === row.id ? '' : row.id)}><${Who} board=${board} id=${row.id} length=${18} /></button>`)}</div>
      <input id="find" type="search" value=${find} placeholder=${t('conv.find')} aria-label=${t('conv.find')} onInput=${into(setFind)} /></div>
    <${Thread} room=${room} board=${board} facts=${facts} words=${words} only=${only} find=${find} seq=${seq} act=${act} />
    ${act && html`<${Composer} busy=${busy} agents=${board.agents.filter((row) => row.status !== 'ended')} to=${to} choose=${setTo} send=${(text, options) => act.prompt(text, options)} />`}
  </div>`;
}

function isShown(block, only, find) {
  if (block.kind === 'turn' || (block.repeated && !find) || (block.kind === 'call' && TEAM_TOOLS.has(block.name) && block.end?.ok && !find)) return false;
  if (block.kind === 'end' && block.status === 'completed' && !block.shown) return false;
  if (only && block.agent !== only && block.from !== only && block.to !== only) return false;
  if (!find) return true;
  return `${block.text || ''}\n${block.name || ''}\n${block.subject || ''}\n${block.end?.output || ''}`.toLowerCase().includes(find);
}

export function Thread({room, board, facts, words, only = '', find = '', seq = null, act, blocks = room.blocks}) {
  const needle = find.trim().toLowerCase();
  const lead = board.agents[0]?.id;
  const shown = useMemo(() => blocks.filter((block) => isShown(block, only, needle) || (block.kind === 'end' && block.agent === lead && !needle && !only)), [facts, only, needle, blocks]);
  const [range, setRange] = useState({from: null, to: null}); // of `shown`; null: its newest
  const box = useRef(null);
  const stuck = useRef(true);
  const kept = useRef(null);
  const anchored = useRef(0);
  if (anchored.current) { // the list has grown at its beginning: what was drawn is further down now
    const at = shown.findIndex((block) => block.seq === anchored.current);
    anchored.current = 0;
    Object.assign(range, {from: Math.max(0, at + 1 - DRAWN - STEP), to: at + 1 >= shown.length ? null : at + 1});
  }
  const end = range.to === null ? shown.length : Math.min(range.to, shown.length);
  const from = Math.max(0, range.from === null ? end - DRAWN : Math.min(range.from, end));
  const target = useRef(null);

  const asked = shown.reduce((last, block) => (block.kind === 'prompt' ? block.seq : last), 0);
  // Who has just said something wants to see what comes of it.
  useEffect(() => { if (target.current === null) { setRange({from: null, to: null}); stuck.current = true; } }, [only, needle, room, asked]);
  useEffect(() => {
    if (seq === null) return;
    target.current = seq;
    stuck.current = false;
    if (seq < room.first) room.loadOlder(seq);
  }, [seq, room]);
  useLayoutEffect(() => {
    const {current} = box;
    if (!current) return;
    if (target.current !== null && target.current >= room.first) {
      const at = shown.findIndex((block) => block.seq >= target.current);
      const found = current.querySelector(`[data-seq="${shown[at]?.seq}"]`);
      if (found) {
        target.current = null;
        current.scrollTop += found.getBoundingClientRect().top - current.getBoundingClientRect().top - current.clientHeight / 3;
        found.classList.add('found');
        found.querySelector('a,button,[tabindex]')?.focus({preventScroll: true});
      } else if (at >= 0) setRange({from: Math.max(0, at - STEP), to: at + STEP});
      else target.current = null;
      return;
    }
    if (kept.current) {
      const anchor = current.querySelector(`[data-seq="${kept.current.seq}"]`);
      if (anchor) current.scrollTop += anchor.getBoundingClientRect().top - kept.current.top;
      kept.current = null;
    } else if (stuck.current && range.to === null) current.scrollTop = current.scrollHeight;
  });

  // What is at the top of the box stays where it is, whatever is drawn above it.
  const hold = () => {
    const edge = box.current.getBoundingClientRect().top;
    const anchor = [...box.current.querySelectorAll('[data-seq]')].find((one) => one.getBoundingClientRect().bottom > edge);
    kept.current = anchor ? {seq: anchor.dataset.seq, top: anchor.getBoundingClientRect().top} : null;
  };
  const scroll = () => {
    const {current} = box;
    const bottom = current.scrollHeight - current.scrollTop - current.clientHeight;
    stuck.current = bottom < NEAR && range.to === null;
    if (current.scrollTop < 200) {
      if (from > 0) {
        hold();
        const next = Math.max(0, from - STEP);
        setRange({from: next, to: end - next > MOST ? next + MOST : range.to});
      } else if (room.first > 1 && !room.older && !room.offline) {
        const before = shown[end - 1]?.seq;
        room.loadOlder().then(() => {
          hold();
          anchored.current = before;
        });
      }
    } else if (bottom < 200 && range.to !== null) {
      const next = Math.min(shown.length, end + STEP);
      hold();
      setRange(next >= shown.length ? {from: Math.max(0, shown.length - DRAWN - STEP), to: null} : {from: Math.max(0, next - DRAWN - STEP), to: next});
    }
  };
  const live = range.to === null && !needle ? [...room.live].filter(([id, one]) => (!only || only === id) && (one.text || one.thinking || one.note)) : [];
  const toEnd = () => {
    stuck.current = true;
    setRange({from: null, to: null});
    box.current.scrollTop = box.current.scrollHeight;
  };
  return html`<div class="thread-box"><div class="thread" ref=${box} onScroll=${scroll} tabindex="0" role="log" aria-live="off" aria-label=${t('nav.conversation')}>
    ${room.older && html`<p class="muted center">${t('conv.older')}</p>`}
    ${!room.older && from === 0 && room.first <= 1 && html`<p class="muted center">${t('conv.begin')}</p>`}
    ${shown.slice(from, end).map((block) => html`<${Block} key=${block.seq} block=${block} board=${board.agents.length} all=${board} act=${act} room=${room} live=${block.kind === 'call' && !block.end ? room.live.get(block.agent)?.output.get(block.id) || '' : ''} />`)}
    ${!live.length && !shown.some((block) => block.kind !== 'note') && html`<${Empty} words=${needle || only ? t('conv.none') : t('conv.empty')}>
      ${!act && !room.offline && !needle && !only && html`<a class="button" href=${`#/s/${room.id}/conversation`}>${t('nav.conversation')}</a>`}</${Empty}>`}
    ${live.map(([id, one]) => html`<article class="block said live" key=${`live-${id}`}><${Badge} board=${board} id=${id} /><div class="block-body"><header class="block-head"><${Name} board=${board} id=${id} /></header>
      ${one.note && html`<p class="muted">${known('live', seen(one.note))}</p>`}${one.thinking && !one.text && html`<p class="thinking">${seen(one.thinking.slice(-400))}</p>`}${one.text && html`<${Markdown} text=${one.text} />`}</div></article>`)}
  </div>${range.to !== null && html`<button class="to-end" onClick=${toEnd}>${t('conv.toEnd')}</button>`}</div>`;
}

// Drawn again only when the block itself is another one: names and hues of agents do not change.
const Block = memo(({block, all: board, act, room, live}) => {
  const View = {prompt: Prompt, told: Told, mail: Mail, said: Said, call: Call, end: End, note: Note}[block.kind];
  return View ? html`<${View} block=${block} board=${board} act=${act} room=${room} live=${live} />` : null;
});
Block.prototype.shouldComponentUpdate = function changed(next) {
  const {props} = this;
  return next.block !== props.block || next.live !== props.live || next.board !== props.board || next.act !== props.act;
};

const Entry = ({block, kind, children}) => html`<article class=${`block ${kind}${block.gone ? ' gone' : ''}`} data-seq=${block.seq}>${children}</article>`;

function Prompt({block, board, act, room}) {
  const [editing, setEditing] = useState(false);
  const [text, setText] = useState(block.text);
  const to = board.agents[0]?.id !== block.to;
  const goOn = async (words) => { if (!await act.goOnFrom(block.seq, words)) setEditing(false); };
  return html`<${Entry} block=${block} kind="prompt"><span class="badge you" aria-hidden="true">${t('you.letter')}</span><div class="block-body">
    <header class="block-head"><span class="name">${t('you')}</span>${to && html`<span class="muted" aria-hidden="true">→</span><${Name} board=${board} id=${block.to} />`}<${Time} ts=${block.ts} />
      ${act && !block.gone && html`<span class="block-acts"><button class="link" onClick=${() => act.fork(room.id, block.seq)}>${t('fork')}</button>${!to && html`<button class="link" aria-expanded=${editing} onClick=${() => setEditing(!editing)}>${t('conv.edit')}</button>`}</span>`}</header>
    ${editing ? html`<form class="edit" onSubmit=${submitted(() => goOn(text))}><label class="hidden" for=${`edit-${block.seq}`}>${t('conv.edit')}</label><textarea id=${`edit-${block.seq}`} rows="4" value=${text} onInput=${into(setText)}></textarea>
      <p class="muted">${t('conv.editHint')}</p><div class="row end"><button type="button" onClick=${() => setEditing(false)}>${t('cancel')}</button><button type="button" onClick=${() => goOn('')}>${t('conv.rewind')}</button><button class="primary" disabled=${!text.trim()}>${t('conv.goOn')}</button></div></form>`
      : html`<div class="prose pre">${seen(block.text)}</div>`}${block.images > 0 && html`<p class="muted">${t('conv.images', {n: block.images})}</p>`}</div></${Entry}>`;
}

// What the runtime, or a hook, said in the user's place.
function Told({block, board}) {
  return html`<${Entry} block=${block} kind="note"><${Mark} is="·" /><span>${t('note.told', {name: brief(nameOf(board, block.to), 30)})} ${brief(block.text, 400)} <${Time} ts=${block.ts} /></span></${Entry}>`;
}

function Mail({block, board}) {
  const long = block.text.length > 600;
  return html`<${Entry} block=${block} kind="mail"><${Badge} board=${board} id=${block.from} /><div class="block-body">
    <header class="block-head"><${Name} board=${board} id=${block.from} /><span class=${`mail-kind ${block.mail}`}>${known('mail', block.mail)} <span aria-hidden="true">→</span></span><${Who} board=${board} id=${block.to} /><${Time} ts=${block.ts} /></header>
    ${long ? html`<details><summary>${brief(block.text, 200)}</summary><${Markdown} text=${block.text} /></details>` : html`<${Markdown} text=${block.text} />`}</div></${Entry}>`;
}

function Said({block, board}) {
  return html`<${Entry} block=${block} kind="said"><${Badge} board=${board} id=${block.agent} /><div class="block-body">
    <header class="block-head"><${Name} board=${board} id=${block.agent} /><${Time} ts=${block.ts} /></header>
    ${block.thinking && html`<details class="thought"><summary>${t('conv.thinking')}</summary><div class="thinking pre">${seen(block.thinking)}</div></details>`}
    ${block.text && html`<${Markdown} text=${block.text} />`}</div></${Entry}>`;
}

function findDiff({name, args}) {
  if (typeof args !== 'object' || args === null) return null;
  if (name === 'edit' && typeof args.old_string === 'string' && typeof args.new_string === 'string') return diffTexts(args.old_string, args.new_string);
  if (name === 'write' && typeof args.content === 'string') return diffTexts('', args.content);
  return null;
}

function Call({block, board, act, live}) {
  const {end, asked} = block;
  const rows = useMemo(() => findDiff(block), [block.args]);
  const counted = rows && countRows(rows);
  const mark = !end ? '●' : end.ok ? '✓' : '✗';
  const output = end ? plain(end.output) : plain(live);
  const quiet = end?.ok && (rows || TEAM_TOOLS.has(block.name) || block.name === 'update_plan');
  const waiting = asked && !asked.decision && !end;
  const facts = [end && end.ms >= 100 && took(end.ms), end && end.exit !== null && end.exit !== 0 && t('call.exit', {code: end.exit}), end?.error].filter(Boolean);
  return html`<${Entry} block=${block} kind=${`call${end && !end.ok ? ' bad' : ''}`}><div class="block-body">
    <header class="call-head"><span class=${`mark ${!end ? '' : end.ok ? 'ok' : 'error'}`}><span aria-hidden="true">${mark}</span><span class="hidden">${!end ? t('call.runs') : end.ok ? t('step.completed') : t('state.failed')}</span></span>
      <span class="call-who"><${Name} board=${board} id=${block.agent} length=${18} /></span> <span class="code strong">${brief(block.name, 40)}</span> <span class="code call-subject" title=${seen(block.subject)}>${brief(block.subject, SUBJECT)}</span>
      ${counted && html`<${Changed} ...${counted} />`}
      ${facts.map((one) => html`<span class="muted num" key=${one}>${seen(one)}</span>`)}${asked?.decision && html`<span class="muted">${known('decision', `${asked.decision}`)}${asked.scope ? ` (${known('scope', asked.scope)})` : ''}</span>`}
      ${waiting && html`<span class="state asks"><span aria-hidden="true">▲</span> ${t('state.asks')}</span>${act && html`<a class="button ask" href="#/inbox">${t('answer')}</a>`}`}</header>
    ${rows && html`<details><summary>${t('diff')}</summary><${Diff} rows=${rows} /></details>`}
    ${block.name === 'bash' && block.subject.length > SUBJECT && html`<details><summary>${t('call.command')}</summary><pre class="output" tabindex="0">${seen(block.args?.command || '')}</pre></details>`}
    ${output && !quiet && (end?.ok && READERS.has(block.name) ? html`<details><summary>${t('call.outputShort')}</summary><${Folded} text=${output} lines=${12} tail=${false} label=${t('call.output')} /></details>` : html`<${Folded} text=${output} label=${t('call.output')} />`)}
    ${end?.notice && html`<p class="muted">${seen(end.notice)}</p>`}</div></${Entry}>`;
}

function End({block, board}) {
  const bad = block.status !== 'completed';
  const {began} = block;
  const parts = [known('turn', block.status), began && t('conv.steps', {n: began.steps}), began && t('tokens', {n: short(began.tokens)}), began && began.cost !== null && money(began.cost), began && took(Date.parse(block.ts) - Date.parse(began.ts))].filter(Boolean);
  return html`<${Entry} block=${block} kind=${`turn-end${bad ? ' bad' : ''}`}><span class="rule" aria-hidden="true"></span><span class="end-words num">${bad && html`<span aria-hidden="true">✗ </span>`}${bad && `${brief(nameOf(board, block.agent), 24)} · `}${parts.join(' · ')}</span><span class="rule" aria-hidden="true"></span></${Entry}>`;
}

function Note({block, board}) {
  const {data} = block;
  const name = brief(nameOf(board, block.agent), 30);
  const text = (value) => (typeof value === 'string' ? brief(value, 300) : '');
  const words = {
    session_resumed: () => t('note.resumed'),
    agent_started: () => t('note.started', {name: brief(data.agent?.name || '', 30), model: text(data.agent?.model?.id || data.agent?.model?.model)}),
    agent_ended: () => t('note.ended', {name, reason: text(data.reason)}),
    compacted: () => t('note.compacted', {name, before: short(data.tokens_before || 0), after: short(data.tokens_after || 0)}),
    forked: () => t('note.forked', {seq: exact(data.at || 0)}),
    rewound: () => t('note.rewound', {seq: exact(data.to || 0)}),
    mode_changed: () => t('note.mode', {mode: known('mode', text(data.mode))}),
    model_changed: () => t('note.model', {name, model: text(data.model?.id || data.model?.model)}),
    renamed: () => t('note.renamed', {name: text(data.name)}),
    error: () => `${text(data.kind)}: ${text(data.message)}`,
    control: () => t(data.action === 'halt' ? 'note.halted' : data.action === 'destroy' ? 'note.destroyed' : 'note.interrupted', {name: brief(nameOf(board, data.target), 30)}),
    permission_decision: () => `${text(data.tool)}: ${known('decision', text(data.decision))}, ${text(data.reason)}`,
    checked: () => t('note.checked', {status: text(data.status ?? String(data.ok ?? ''))}),
  }[block.type]();
  return html`<${Entry} block=${block} kind=${`note${block.type === 'error' ? ' bad' : ''}`}><${Mark} is=${block.type === 'error' ? '✗' : '·'} /><span>${words} <${Time} ts=${block.ts} /></span></${Entry}>`;
}
