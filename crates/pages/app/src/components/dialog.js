// A modal question. The browser's own dialog keeps the focus inside and gives it back afterwards.
import { html } from '../html.js';
import { useLayoutEffect, useRef } from '../../vendor/hooks.js';

/** @param {{ title: string, onClose: () => void, children?: any, wide?: boolean }} props */
export function Dialog({ title, onClose, children, wide }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  // Before the next key: it belongs to the question, not to the page behind it.
  useLayoutEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (!(before instanceof HTMLElement) || !before.isConnected) return;
      // The browser gave the focus back, but a field not its cursor: letters would go nowhere.
      before.blur();
      before.focus();
    };
  }, []);
  const onClick = (/** @type {MouseEvent} */ event) => event.target === ref.current && onClose();
  return html`<dialog ref=${ref} class=${wide ? 'dialog wide' : 'dialog'} aria-labelledby="dialog-title"
      onClick=${onClick} onCancel=${(/** @type {Event} */ event) => { event.preventDefault(); onClose(); }}>
    <div class="dialog-in"><h2 id="dialog-title">${title}</h2>${children}</div>
  </dialog>`;
}
