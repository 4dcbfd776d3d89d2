/** Callbacks that no send leads to: customers write, pay and subscribe. Their payloads are ours; contract, "not shown". */
import type { CallbackKind } from '../events.ts'
import type { ProjectState } from './projects.ts'

type Fields = Readonly<Record<string, unknown>>

/** What a payload is made of. */
interface About {
  readonly project: ProjectState
  /** Of this callback alone. */
  readonly id: string
  /** Unix seconds. */
  readonly timestamp: number
}

interface TriggerRow {
  readonly kind: CallbackKind
  readonly what: string
  readonly payload: (about: About) => Fields
}

const CUSTOMER = '999100000000'
const KEYWORD = 'NEWS'

function premium(event: string, what: string, more: (about: About) => Fields = () => ({})): TriggerRow {
  return {
    kind: 'subscription',
    what,
    payload: (about) => ({
      project: about.project.name,
      event,
      phone: CUSTOMER,
      shortcode: about.project.shortcode,
      keyword: KEYWORD,
      timestamp: about.timestamp,
      ...more(about),
    }),
  }
}

/** Every trigger by its name. */
export const TRIGGERS = {
  received: {
    kind: 'received',
    what: 'A customer writes to the shortcode.',
    payload: ({ project, id, timestamp }) => ({
      project: project.name,
      id,
      channel: 'sms',
      from: CUSTOMER,
      to: project.shortcode,
      text: 'Hello',
      timestamp,
    }),
  },
  payment: {
    kind: 'payment',
    what: 'A mobile-money payment completes; `{ status: "failed" }` for one that does not.',
    payload: ({ project, id, timestamp }) => ({
      project: project.name,
      id,
      type: 'c2b',
      amount: 100,
      currency: 'KES',
      phone: CUSTOMER,
      reference: 'INV-1',
      status: 'completed',
      timestamp,
    }),
  },
  'subscription.activate': premium('activate', 'A customer subscribes by texting the keyword.'),
  'subscription.deactivate': premium('deactivate', 'A customer unsubscribes.'),
  'subscription.consent': premium('consent', 'The carrier confirms the customer’s consent.'),
  'subscription.billing': premium('billed', 'A customer is billed.', () => ({ amount: 10, currency: 'KES' })),
  'subscription.delivery': premium('delivery', 'A premium message was delivered.', ({ id }) => ({
    messageId: id,
    status: 'success',
  })),
} as const satisfies Readonly<Record<string, TriggerRow>>

/** What `emulator.trigger` takes. */
export type TriggerName = keyof typeof TRIGGERS

/** The names, for lists and checks. `Object.keys` of a constant gives its keys and no others. */
export const TRIGGER_NAMES = Object.keys(TRIGGERS) as readonly TriggerName[]

/** The payload of a trigger, with fields replaced and added. */
export function triggerPayload(name: TriggerName, about: About, fields: Fields): Fields {
  return { ...TRIGGERS[name].payload(about), ...fields }
}
