/** User functions throw and reject with anything: no callback is lost, and no other callback is affected. */
import { inspect } from 'node:util'
import type { ErrorCode, MessagingWebhooksError } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { THROWN, unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'

type ReceiverOptions = Parameters<typeof receiving>[0] & object

/** A user function that runs `act` for a hostile callback. */
type Hook = readonly [
  name: string,
  status: number,
  codes: readonly ErrorCode[],
  /** The event type that handlers receive. */
  type: string | undefined,
  options: (act: () => unknown) => ReceiverOptions,
]

const pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
const logging = (act: () => unknown) => ({ debug: act, info: act, warn: act, error: act })
const CONSENT = 'subscription.consent'
const isHostile = (value: unknown): boolean => (value as { readonly project?: unknown }).project === 'Hostile'

function hostileSchema(act: () => unknown): ReceiverOptions {
  const validate = (value: unknown) => (isHostile(value) ? (act() as { value: unknown }) : { value })
  return { schemas: { subscription: { '~standard': { version: 1, vendor: 'hostile', validate } } } }
}

const HOOKS: readonly Hook[] = [
  ['dedupeKey', 204, ['dedupe_key_failed'], CONSENT, (act) => ({ dedupeKey: () => act() as string })],
  [
    'readReport',
    204,
    ['read_report_failed'],
    CONSENT,
    (act) => ({ readReport: (payload) => (isHostile(payload) ? (act() as undefined) : undefined) }),
  ],
  [
    'credentials',
    503,
    ['credentials_failed'],
    undefined,
    (act) => ({ credentials: (project) => (project === 'Hostile' ? (act() as undefined) : pair) }),
  ],
  [
    'subscriptionType',
    204,
    [],
    CONSENT,
    (act) => ({ subscriptionType: (payload) => (isHostile(payload) ? (act() as 'consent') : 'consent') }),
  ],
  ['validate of a schema', 204, [], 'unrecognized', hostileSchema],
  // Any reason to log works: here an invalid idempotency key.
  [
    'logger',
    204,
    ['dedupe_key_failed'],
    CONSENT,
    (act) => ({ logger: logging(act), dedupeKey: () => 7 as unknown as string }),
  ],
]

const hostile = callback.subscription({ event: 'consent', project: 'Hostile' })

describe.each(HOOKS)('%s', (_name, status, codes, type, options) => {
  describe.each(['throws', 'rejects with'])('%s', (how) => {
    test.each(THROWN)('%s', async (_what, thrown) => {
      const unhandled = unhandledRejections()
      const act = (): unknown => {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what is rejected with is the test
        if (how === 'rejects with') return Promise.reject(thrown())
        throw thrown()
      }
      const { receiver, url, errors } = await receiving(options(act), { kind: 'subscription' })
      const given: unknown[] = []
      receiver.onAny((event) => void given.push(event))
      const answer = await post(url, hostile)
      expect(answer.status).toBe(status)
      expect((await post(url, callback.subscription({ event: 'consent', project: 'Good' }))).status).toBe(204)
      expect(await receiver.drain()).toBe(true)
      await untilRejectionsReported()
      expect(unhandled).toEqual([])
      expect([...new Set(errors.map(({ code }) => code))]).toEqual(codes)
      const good = { type: 'subscription.consent', project: 'Good' }
      expect(given).toMatchObject(type === undefined ? [good] : [{ type, project: 'Hostile' }, good])
      const said = [answer.text, ...errors.map(ours), inspect(given, { depth: null })].join('\n')
      for (const secret of [AUTH_KEY, SIGNING_SECRET]) expect(said).not.toContain(secret)
    })
  })
})

/** Everything in the error that comes from the receiver. */
function ours({ message, stack, detail }: MessagingWebhooksError): string {
  return [message, stack, detail].join('\n')
}
