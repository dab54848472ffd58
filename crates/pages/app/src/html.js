// The one place that binds templates to the renderer, so that pages import both from here.
import { h, options } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

/** @type {(strings: TemplateStringsArray, ...values: any[]) => any} */
export const html = htm.bind(h);

// One batch of changes a frame. A hidden tab has no frames, but its title and notifications must still follow.
options.debounceRendering = (flush) => {
  let isDone = false;
  const once = () => {
    if (!isDone) {
      isDone = true;
      flush();
    }
  };
  requestAnimationFrame(once);
  setTimeout(once, 100);
};

/**
 * Class names, without those that do not hold.
 * @param {...(string | false | null | undefined)} names
 */
export const cls = (...names) => names.filter(Boolean).join(' ');
