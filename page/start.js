// Where it begins: a file that holds the events of a session shows them; else there is a server to ask.

import {mount, mountOffline} from './app.js';

const readHeld = (id) => JSON.parse(document.getElementById(id)?.textContent || 'null');
const heldEvents = readHeld('planck-events');
const place = document.getElementById('app');
if (heldEvents) mountOffline(place, {events: heldEvents, session: readHeld('planck-session')});
else mount(place);
