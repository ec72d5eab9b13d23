// Where the page begins; an exported file begins with `mountOffline` instead.

import {mount} from './app.js';

mount(document.getElementById('app'));
