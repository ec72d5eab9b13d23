// Where a person says something. Enter steers while a team works; with Ctrl it waits for its turn.

import {html, useRef, useState} from '../vendor/preact.js';
import {brief, t} from '../words.js';
import {Choice, submitted, useBusy} from './common.js';

export function Composer({busy, agents, to, choose, send}) {
  const [text, setText] = useState('');
  const [sending, run] = useBusy();
  const box = useRef(null);
  const idle = sending || !text.trim();
  const steers = busy && !to;
  const submit = async (queue) => {
    if (idle) return;
    const problem = await run(() => send(text, {...(to && {agent: to}), ...(steers && !queue && {steer: true})}));
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
  const type = ({target}) => {
    setText(target.value);
    target.style.height = 'auto';
    target.style.height = `${Math.min(target.scrollHeight + 2, 200)}px`;
  };
  return html`<form class="composer" onSubmit=${submitted(() => submit(false))}>
    <textarea id="composer" ref=${box} rows="1" value=${text} onInput=${type} onKeyDown=${press} aria-label=${t('composer.label')} title=${t('composer.hint')} placeholder=${t(busy ? 'composer.busy' : 'composer.idle')}></textarea>
    <${Choice} label=${t('composer.to')} hidden none=${t('composer.everyone')} of=${agents.map((row) => row.id)} say=${(id) => brief(agents.find((row) => row.id === id).name, 24)} value=${to} set=${choose} />
    ${steers && html`<button type="button" disabled=${idle} onClick=${() => submit(true)}>${t('composer.queue')}</button>`}
    <button class="primary" disabled=${idle}>${t(steers ? 'composer.steer' : 'composer.send')}</button></form>`;
}
