// Any moment of the log: the fold up to it, from the checkpoint before.

import {html, useEffect, useRef, useState} from '../vendor/preact.js';
import {exact, t, time} from '../words.js';
import {Mark} from './common.js';

const PLAY_MS = 120;

export function Scrubber({head, at, ts, show, live}) {
  const [playing, setPlaying] = useState(false);
  const [wanted, setWanted] = useState(null);
  const place = useRef(at);
  place.current = at;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      if (place.current >= head) setPlaying(false);
      else show(place.current + 1);
    }, PLAY_MS);
    return () => clearInterval(timer);
  }, [playing, head]);
  useEffect(() => setWanted(null), [at]);
  const shown = wanted ?? at;
  const go = (seq) => {
    setPlaying(false);
    const next = Math.min(Math.max(seq, 1), head);
    setWanted(next);
    show(next >= head ? null : next);
  };
  const begin = () => {
    if (!playing && at >= head) show(1);
    setPlaying(!playing);
  };
  return html`<div class="scrubber" role="group" aria-label=${t('replay.label')}>
    <button class="icon" onClick=${() => go(at - 1)} disabled=${at <= 1} aria-label=${t('replay.back')}>◀</button>
    <button class="icon" onClick=${begin} disabled=${head < 2} aria-pressed=${playing} aria-label=${playing ? t('replay.pause') : t('replay.play')}>${playing ? '❚❚' : '▶'}</button>
    <button class="icon" onClick=${() => go(at + 1)} disabled=${at >= head} aria-label=${t('replay.forward')}>▶▏</button>
    <input type="range" min="1" max=${Math.max(1, head)} value=${shown} aria-label=${t('replay.place')} aria-valuetext=${t('replay.at', {seq: shown, head})} onInput=${(event) => go(Number(event.target.value))} />
    <span class="num scrub-at" title=${t('replay.at', {seq: shown, head})}>${exact(shown)} / ${exact(head)} <span class="muted">${time(ts)}</span></span>
    <button class=${`live${live ? ' on' : ''}`} aria-pressed=${live} onClick=${() => { setPlaying(false); show(null); }}>
      <${Mark} is=${live ? '●' : '○'} /> ${t('replay.live')}</button>
  </div>`;
}
