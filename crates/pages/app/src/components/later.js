// A part of a page that is loaded when it is asked for.
import { html } from '../html.js';
import { useEffect, useState } from '../../vendor/hooks.js';
import { Failed, Loading } from './states.js';

/** @param {{ load: () => Promise<{ default: any }> }} props */
export function Later({ load }) {
  const [part, setPart] = useState(/** @type {{ view: any } | null} */ (null));
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const read = () => {
    setError(null);
    load().then((it) => setPart({ view: it.default }), setError);
  };
  useEffect(read, []);
  if (error) return html`<${Failed} what="This part cannot be loaded." error=${error} onRetry=${read} />`;
  return part ? html`<${part.view} />` : html`<${Loading} />`;
}
