import { useLayoutEffect, useRef } from '../../vendor/hooks.js';

/** The field that a form begins with has the focus when the form appears, and only then. */
export function useFocus() {
  const field = useRef(/** @type {any} */ (null));
  useLayoutEffect(() => field.current?.focus(), []);
  return field;
}
