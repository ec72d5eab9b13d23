// What was done to files, by whom; and taking it back, after a look at what that would do.

import {html, useEffect, useMemo, useState} from '../vendor/preact.js';
import {get, newKey, post} from '../api.js';
import {brief, seen, t} from '../words.js';
import {Diff, readDiff} from '../diff.js';
import {Badge, Changed, Empty, Pending, moveFocus, useBusy} from '../parts/common.js';

const GROUPS = ['agent', 'turn', 'call'];

export function ChangesView({room, act, params}) {
  const [list, setList] = useState({status: 'loading', items: []});
  const [by, setBy] = useState(params.call ? 'call' : 'agent');
  const [chosen, setChosen] = useState(params.call || params.agent || null);
  const [file, setFile] = useState(null);
  const [done, setDone] = useState(null);
  const load = async () => {
    try {
      const {items} = await get(`/sessions/${room.id}/changes`);
      setList({status: 'ready', items});
    } catch (problem) {
      setList({status: 'error', items: [], problem});
    }
  };
  const changes = room.board.counts.file_changes;
  useEffect(() => { load(); }, [room, changes]);
  const groups = useMemo(() => {
    const made = new Map();
    for (const item of list.items) {
      const key = item[by === 'call' ? 'call_id' : by];
      if (!made.has(key)) made.set(key, []);
      made.get(key).push(item);
    }
    return [...made];
  }, [list, by]);
  if (list.status !== 'ready') return html`<${Pending} of=${list} retry=${load} />`;
  if (!list.items.length) return html`<${Empty} words=${t('changes.empty')}><a class="button" href=${`#/s/${room.id}/conversation`}>${t('nav.conversation')}</a></${Empty}>`;
  const at = groups.find(([key]) => key === chosen) || groups.filter(([key]) => key !== 'user').pop() || groups[0];
  const [key, items] = at;
  const shown = items.find((item) => `${item.call_id}/${item.path}` === file) || items[items.length - 1];
  const ids = new Map(room.board.agents.map((row) => [row.name, row.id]));
  const title = (value, first) => (by === 'agent' ? (value === 'user' ? t('you') : brief(value, 28)) : by === 'turn' ? t('changes.turn', {n: value}) : `${brief(first.path.split('/').pop(), 20)} · ${brief(value, 10)}`);
  return html`<div class="changes"><section class="changes-list" aria-label=${t('nav.changes')}>
    <div class="segmented" role="group" aria-label=${t('changes.by')}>${GROUPS.map((one) => html`<button key=${one} aria-pressed=${by === one} onClick=${() => { setBy(one); setChosen(null); setFile(null); }}>${t(`changes.by.${one}`)}</button>`)}</div>
    <div onKeyDown=${moveFocus}>${groups.map(([value, all], index) => html`<div class="change-group" key=${value}><button class=${`change-head${value === key ? ' on' : ''}`} data-stop tabindex=${value === key ? 0 : -1} aria-pressed=${value === key} onClick=${() => { setChosen(value); setFile(null); }}>
      ${by === 'agent' && html`<${Badge} board=${room.board} id=${ids.get(value) || 'user'} />`}<bdi class="grow strong">${title(value, all[0])}</bdi><span class="muted num">${t('changes.files', {n: new Set(all.map((one) => one.path)).size})}</span></button>
      ${value === key && html`<ul class="plain">${all.map((item) => html`<li key=${`${item.call_id}/${item.path}`}><button class=${`change-file${item === shown ? ' on' : ''}`} data-stop tabindex="-1" aria-pressed=${item === shown} onClick=${() => setFile(`${item.call_id}/${item.path}`)}>
        <span class="code grow clip" title=${seen(item.path)}>${brief(item.path, 34)}</span>${item.undone && html`<span class="muted">${t('changes.undone')}</span>`}${item.undoes.length > 0 && html`<span class="muted">${t('changes.undo')}</span>`}<${Changed} ...${item} /></button></li>`)}</ul>`}</div>`)}</div></section>
    <section class="changes-diff" aria-label=${seen(shown.path)}><header class="row"><h2 class="code grow clip" title=${seen(shown.path)}>${brief(shown.path, 60)}</h2><span class="muted">${brief(shown.agent === 'user' ? t('you') : shown.agent, 24)} · ${t('changes.turn', {n: shown.turn})}</span></header>
      ${shown.diff ? html`<${Diff} key=${`${shown.call_id}/${shown.path}`} rows=${readDiff(shown.diff)} all=${true} />` : html`<p class="muted">${t('changes.noDiff')}</p>`}
      <${Undo} key=${`${by}/${key}`} room=${room} act=${act} selection=${{[by]: key}} what=${title(key, items[0])} done=${done} setDone=${setDone} reload=${load} usable=${!(by === 'agent' && key === 'user')} /></section></div>`;
}

function Undo({room, act, selection, what, done, setDone, reload, usable}) {
  const [plan, setPlan] = useState(null);
  const [busy, run] = useBusy();
  const attempt = (work) => () => run(() => act.attempt(work));
  const look = attempt(async () => setPlan(await post(`/sessions/${room.id}/undo/plan`, {selection})));
  const take = attempt(async () => {
    setDone(await post(`/sessions/${room.id}/undo`, {plan_id: plan.plan_id}, {key: newKey()}));
    setPlan(null);
    await reload();
  });
  const rows = plan?.diff ? readDiff(plan.diff) : [];
  const count = rows.filter((row) => row.kind === 'file' && row.text.startsWith('+++')).length;
  return html`<div class="undo">${done && html`<p class="ok-box" role="status">${t('undo.done', {n: done.files.length})} <a class="code" href=${`#/s/${room.id}/changes?call=${done.call_id}`}>${brief(done.call_id, 12)}</a></p>`}
    ${!plan && html`<button disabled=${busy || !usable} onClick=${look}>${t('undo.look', {what})}</button>`}
    ${plan && html`<section aria-label=${t('undo.plan')}><h3>${t('undo.plan')}</h3>
      ${plan.conflicts.length > 0 && html`<ul class="plain conflicts">${plan.conflicts.map((one) => html`<li key=${one.path}><span aria-hidden="true">⚠</span> <span class="code">${seen(one.path)}</span> ${seen(one.reason)}</li>`)}</ul>`}
      ${plan.diff ? html`<${Diff} rows=${rows} />` : html`<p class="muted">${t('undo.nothing')}</p>`}
      ${plan.commands.length > 0 && html`<details><summary>${t('undo.commands', {n: plan.commands.length})}</summary><ul class="plain">${plan.commands.map((one, at) => html`<li class="code" key=${at}>${seen(one)}</li>`)}</ul></details>`}
      <div class="row end"><button onClick=${() => setPlan(null)}>${t('cancel')}</button><button class="primary" disabled=${busy || !plan.diff} onClick=${take}>${t('undo.take', {n: Math.max(1, count)})}</button></div></section>`}</div>`;
}
