/** The callbacks that `trigger` can send: one per event type, and the emulator's triggers. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import { nearest } from '../runtime/did-you-mean.ts'
import { resolveChannelNames } from '../emulator/channels.ts'
import { PROJECT_DEFAULTS } from '../emulator/not-shown.ts'
import { TRIGGER_NAMES, triggerPayload, TRIGGERS, type TriggerName } from '../emulator/payloads.ts'
import type { CallbackKind } from '../public/events.ts'
import { CALLBACKS, type CallbackEvent } from '../testing/callbacks.ts'
import type { Fields } from '../testing/fields.ts'
import { usage } from './command.ts'
import { shown } from './terminal.ts'

interface Triggered {
  readonly name: string
  readonly kind: CallbackKind
  readonly what: string
  /** A payload with the current time and these fields. */
  readonly build: (fields: Fields) => Fields
}

/** Reports, which the emulator creates only for sends, so `callbackFor` builds them here. */
const REPORTS = {
  'message.queued': 'SMS, queued (13).',
  'message.sent': 'Chat-app, sent.',
  'message.delivered': 'SMS over carrier A, success.',
  'message.read': 'Chat-app, read.',
  'message.failed': 'SMS over carrier A, delivery_impossible.',
  unrecognized: 'A report without a message id.',
} as const satisfies Readonly<Record<Exclude<CallbackEvent, TriggerName>, string>>

/** Prefers the emulator's payloads, so that `trigger` and `emulate` send the same. */
export function triggeredEvents(clock: Pick<Clock, 'now'>): readonly Triggered[] {
  // A constant object has no other keys.
  const types = Object.keys(CALLBACKS) as readonly CallbackEvent[]
  return types.flatMap((type) => {
    if (isReport(type)) return [ofTests(type)]
    const ofType = TRIGGER_NAMES.filter((name) => name === type || name.startsWith(`${type}.`))
    return ofType.map((name) => ofEmulator(name, clock))
  })
}

function isReport(type: CallbackEvent): type is keyof typeof REPORTS {
  return Object.hasOwn(REPORTS, type)
}

function ofTests(name: keyof typeof REPORTS): Triggered {
  const { kind, build } = CALLBACKS[name]
  return { name, kind, what: REPORTS[name], build }
}

function ofEmulator(name: TriggerName, clock: Pick<Clock, 'now'>): Triggered {
  const build = (fields: Fields): Fields => {
    const timestamp = Math.floor(clock.now() / 1_000)
    const about = { project: PROJECT_DEFAULTS, channels: resolveChannelNames().names, id: randomUUID(), timestamp }
    return triggerPayload(name, about, fields)
  }
  const { kind, what } = TRIGGERS[name]
  return { name, kind, what: what.replaceAll('`', ''), build }
}

/** Throws a `CliError` if no event was named or the name is unknown. */
export function findTriggered(given: string | undefined, events: readonly Triggered[]): Triggered {
  const event = events.find(({ name }) => name === given)
  if (event !== undefined) return event
  if (given === undefined) throw usage('No event was given.', '`trigger --list` prints all events.')
  const names = events.map(({ name }) => name)
  const family = names.filter((name) => name.includes(given))
  const meant = family.length > 0 ? family.join(' or ') : nearest(given, names)
  throw usage(
    `There is no event ${shown(given)}.`,
    meant === undefined ? '`trigger --list` prints all events.' : `Did you mean ${meant}?`,
  )
}
