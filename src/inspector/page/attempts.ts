/** What the handlers did with an event: each attempt, with each handler in it. */
import type { AttemptRow } from '../shapes.ts'
import { h, type Child, type Tree } from './elements.ts'
import { badge, errorText, quiet } from './parts.ts'
import { duration, time } from './words.ts'

const OUTCOMES: Readonly<Record<AttemptRow['outcome'], readonly [label: string, tone: string]>> = {
  running: ['running', 'busy'],
  succeeded: ['succeeded', 'good'],
  failed: ['failed', 'bad'],
  lost: ['lost with its process', 'warn'],
  settled: ['settled, by another process', 'calm'],
}

const HANDLER_TONES: Readonly<Record<AttemptRow['handlers'][number]['outcome'], string>> = {
  succeeded: 'good',
  failed: 'bad',
  'timed out': 'bad',
  running: 'busy',
}

export function attempts(rows: readonly AttemptRow[]): Child {
  if (rows.length === 0) return undefined
  return h('ol', { class: 'attempts', 'aria-label': 'Attempts' }, rows.map(attempt))
}

function attempt({ number, startedAt, durationMs, outcome, replay, error, handlers }: AttemptRow): Tree {
  const [label, tone] = OUTCOMES[outcome]
  const isToldByHandler = handlers.some((handler) => handler.error !== undefined)
  return h(
    'li',
    {},
    h(
      'span',
      { class: 'head' },
      `Attempt ${number} `,
      badge(label, `dot ${tone}`),
      replay === true && badge('replay', 'calm'),
    ),
    quiet(startedAt !== undefined && [' ', time(startedAt)], durationMs !== undefined && `, ${duration(durationMs)}`),
    error !== undefined && !isToldByHandler && errorText(error),
    handlers.length > 0 &&
      h(
        'ul',
        {},
        handlers.map((handler) =>
          h(
            'li',
            {},
            h('code', {}, handler.name),
            ' ',
            badge(handler.outcome, `dot ${HANDLER_TONES[handler.outcome]}`),
            handler.durationMs !== undefined && quiet(` ${duration(handler.durationMs)}`),
            handler.error !== undefined && errorText(handler.error),
          ),
        ),
      ),
  )
}
