// Where a person says something. Enter steers while a team works; with Ctrl it waits for its turn.

import {html, useRef, useState} from '../vendor/preact.js';
import {brief, t} from '../words.js';
import {into, submitted} from './common.js';

export function Composer({busy, agents, to, choose, send}) {
  const [text, setText] = useState('');
  const [sending, setSending] = useState(false);
  const box = useRef(null);
  const submit = async (queue) => {
    if (!text.trim() || sending) return;
    setSending(true);
    const problem = await send(text, {...(to ? {agent: to} : {}), ...(busy && !queue && !to ? {steer: true} : {})});
    setSending(false);
    if (!problem) {
      setText('');
      if (box.current) box.current.style.height = '';
    }
    box.current?.focus();
  };
  const press = (event) => {
    if (event.key === 'Escape') event.currentTarget.blur();
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit(event.ctrlKey || event.metaKey);
  };
  const type = (event) => {
    setText(event.target.value);
    const {style} = event.target;
    style.height = 'auto';
    style.height = `${Math.min(event.target.scrollHeight + 2, 200)}px`;
  };
  return html`<form class="composer" onSubmit=${submitted(() => submit(false))}>
    <label class="hidden" for="composer">${t('composer.label')}</label>
    <textarea id="composer" ref=${box} rows="1" value=${text} onInput=${type} onKeyDown=${press} title=${t('composer.hint')} placeholder=${busy ? t('composer.busy') : t('composer.idle')}></textarea>
    <label><span class="hidden">${t('composer.to')}</span><select value=${to} onChange=${into(choose)}>
      <option value="">${t('composer.everyone')}</option>${agents.map((row) => html`<option key=${row.id} value=${row.id}>${brief(row.name, 24)}</option>`)}</select></label>
    ${busy && !to && html`<button type="button" disabled=${sending || !text.trim()} onClick=${() => submit(true)}>${t('composer.queue')}</button>`}
    <button class="primary" disabled=${sending || !text.trim()}>${busy && !to ? t('composer.steer') : t('composer.send')}</button></form>`;
}
