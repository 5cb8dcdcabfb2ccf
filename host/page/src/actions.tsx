// What changes something: run a check now, set a component healthy. Says what will happen, and asks for the token where the
// daemon wants one.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, hasToken, request, setToken } from './api';
import { refresh, reconnect } from './live';
import { Text } from './parts';

export interface Action {
  title: string;
  /** The effect of an action, for the person who decides. */
  says: string;
  button: string;
  method: string;
  path: string;
  done: string;
}

export function runNow(component: string): Action {
  return {
    title: `Run ${component} now?`,
    says: 'gpud runs this check once, outside its schedule, and shows what it finds. The check only reads, except where the operator gave it a script that does more.',
    button: 'Run now',
    method: 'GET',
    path: `v1/components/trigger-check?componentName=${encodeURIComponent(component)}`,
    done: 'The check has run.',
  };
}

export function setHealthy(components: string[]): Action {
  const names = components.join(', ');
  return {
    title: `Set ${components.length === 1 ? names : `${components.length} checks`} healthy?`,
    says: `gpud forgets what is recorded against ${names}. Nothing on the machine is repaired or restarted: if the trouble is still there, the next check reports it again.`,
    button: 'Set healthy',
    method: 'POST',
    path: `v1/health-states/set-healthy?components=${components.map(encodeURIComponent).join(',')}`,
    done: 'It is set healthy.',
  };
}

/** A dialog for an action; `undefined` closes it. */
export function ActionDialog({ action, close }: { action: Action | undefined; close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [asks, setAsks] = useState(false);
  const [problem, setProblem] = useState('');
  const [done, setDone] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setProblem('');
    setDone('');
    setAsks(false);
    if (action) dialog.current?.showModal();
    else dialog.current?.close();
  }, [action]);
  useEffect(() => {
    if (asks) field.current?.focus();
  }, [asks]);
  if (!action) return null;
  const run = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem('');
    if (field.current?.value) setToken(field.current.value);
    try {
      const response = await request(action.path, { method: action.method, signal: AbortSignal.timeout(120_000) });
      await response.body?.cancel();
      setDone(action.done);
      void refresh();
    } catch (error) {
      const failed = error instanceof ApiError ? error : new ApiError(0, 'gpud does not answer');
      if (failed.wantsToken) {
        setAsks(true);
        setProblem(hasToken() ? 'This is not the token of this gpud.' : 'gpud asks for its token.');
        setToken('');
      } else {
        setProblem(failed.message);
      }
    } finally {
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="action-title">
      <form onSubmit={run}>
        <h2 id="action-title">
          <Text>{action.title}</Text>
        </h2>
        <p>
          <Text>{action.says}</Text>
        </p>
        {asks && !done && (
          <label class="field">
            Token
            <input ref={field} type="password" autocomplete="off" spellcheck={false} required />
            <small>
              It is in the file <code>token</code> of gpud's data folder: <code>sudo cat /var/lib/gpud/token</code>. This page forgets it when it is closed.
            </small>
          </label>
        )}
        <p role="status" class={problem ? 'bad' : 'ok'}>
          <Text>{problem || done}</Text>
        </p>
        <div class="buttons">
          {!done && (
            <button type="submit" class="main" disabled={busy}>
              {busy ? 'Asking gpud …' : action.button}
            </button>
          )}
          <button type="button" onClick={() => dialog.current?.close()}>
            {done ? 'Close' : 'Cancel'}
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** What is shown while every route asks for the token. */
export function Locked({ why }: { why: string }) {
  const field = useRef<HTMLInputElement>(null);
  const [tried, setTried] = useState(false);
  const open = (event: Event) => {
    event.preventDefault();
    setToken(field.current?.value ?? '');
    setTried(true);
    reconnect();
  };
  return (
    <form class="locked card" onSubmit={open}>
      <h1>This gpud asks for its token</h1>
      <p role="status">{tried ? 'This is not the token of this gpud.' : <Text>{why}</Text>}</p>
      <label class="field">
        Token
        <input ref={field} type="password" autocomplete="off" spellcheck={false} required />
      </label>
      <button type="submit" class="main">
        Show this machine
      </button>
    </form>
  );
}
