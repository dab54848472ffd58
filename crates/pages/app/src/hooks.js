// How pages load what they show.
import { useCallback, useEffect, useRef, useState } from '../vendor/hooks.js';
import { pageTitle } from './state.js';

/**
 * Loads something and keeps what was there while it is loaded again, so that an error never takes content away.
 * @template T
 * @param {() => Promise<T>} load @param {unknown[]} inputs
 * @returns {{ data: T | null, error: unknown, reload: () => void, set: (data: T) => void }}
 */
export function useLoaded(load, inputs) {
  const [state, setState] = useState(/** @type {{ data: T | null, error: unknown }} */ ({ data: null, error: null }));
  const turn = useRef(0);
  const latest = useRef(load);
  latest.current = load;
  const reload = useCallback(() => {
    const own = ++turn.current;
    latest.current().then(
      (data) => own === turn.current && setState({ data, error: null }),
      (error) => own === turn.current && setState((before) => ({ data: before.data, error })),
    );
  }, []);
  useEffect(() => {
    setState({ data: null, error: null });
    reload();
    return () => void (turn.current += 1);
  }, inputs);
  return { ...state, reload, set: (data) => setState({ data, error: null }) };
}

/** @param {string} title */
export function useTitle(title) {
  useEffect(() => void (pageTitle.value = title), [title]);
}

/** Whether the page is as narrow as a phone. */
export function useNarrow() {
  const [is, set] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => set(narrow.matches);
    narrow.addEventListener('change', changed);
    return () => narrow.removeEventListener('change', changed);
  }, []);
  return is;
}

const narrow = matchMedia('(max-width: 760px)');

/** What a length in rem is in pixels: people set their own size of letters. @param {number} rems */
export const rem = (rems) => rems * parseFloat(getComputedStyle(document.documentElement).fontSize);

/** Loads the styles of a page together with it. @param {string} path */
export function useCss(path) {
  if (document.querySelector(`link[href="${path}"]`)) return;
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = path;
  document.head.append(link);
}
