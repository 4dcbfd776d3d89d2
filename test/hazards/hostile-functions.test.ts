/** User functions throw and reject with anything: no callback is lost, and no other callback is affected. */
import { inspect } from 'node:util'
import type { ErrorCode, MessagingWebhooksError } from 'messaging-webhooks'
import { callback } from 'messaging-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { THROWN, unhandledRejections, untilRejectionsReported } from '../support/hostile.ts'
import { AUTH_KEY, post, receiving, SIGNING_SECRET } from '../support/receiving.ts'

type ReceiverOptions = Parameters<typeof receiving>[0] & object

/** A user function that runs `act` for a hostile callback. */
interface Hook {
  readonly name: string
  readonly options: (act: () => unknown) => ReceiverOptions
  readonly status: number
  readonly codes: readonly ErrorCode[]
  /** The event type that handlers receive. */
  readonly type: string | undefined
}

const pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
const logging = (act: () => unknown) => ({ debug: act, info: act, warn: act, error: act })

const HOOKS: readonly Hook[] = [
  {
    name: 'dedupeKey',
    options: (act) => ({ dedupeKey: () => act() as string }),
    status: 204,
    codes: ['dedupe_key_failed'],
    type: 'subscription.consent',
  },
  {
    name: 'readReport',
    options: (act) => ({ readReport: ({ project }) => (project === 'Hostile' ? (act() as undefined) : undefined) }),
    status: 204,
    codes: ['read_report_failed'],
    type: 'subscription.consent',
  },
  {
    name: 'credentials',
    options: (act) => ({ credentials: (project) => (project === 'Hostile' ? (act() as undefined) : pair) }),
    status: 503,
    codes: ['credentials_failed'],
    type: undefined,
  },
  {
    name: 'subscriptionType',
    options: (act) => ({
      subscriptionType: ({ project }) => (project === 'Hostile' ? (act() as 'consent') : 'consent'),
    }),
    status: 204,
    codes: [],
    type: 'subscription.consent',
  },
  {
    name: 'validate of a schema',
    options: (act) => ({
      schemas: {
        subscription: {
          '~standard': {
            version: 1,
            vendor: 'hostile',
            validate: (value) =>
              (value as { project?: unknown }).project === 'Hostile' ? (act() as { value: unknown }) : { value },
          },
        },
      },
    }),
    status: 204,
    codes: [],
    type: 'unrecognized',
  },
  {
    name: 'logger',
    // Any reason to log works: here an invalid signature beside a valid authKey.
    options: (act) => ({ logger: logging(act), dedupeKey: () => 7 as unknown as string }),
    status: 204,
    codes: ['dedupe_key_failed'],
    type: 'subscription.consent',
  },
  {
    name: 'clock',
    options(act) {
      let reads = 0
      return { clock: () => ((reads += 1) % 2 === 0 ? (act() as number) : Date.now()) }
    },
    status: 204,
    codes: ['clock_failed'],
    type: 'subscription.consent',
  },
]

const hostile = callback.subscription({ event: 'consent', project: 'Hostile' })

describe.each(HOOKS)('$name', ({ options, status, codes, type }) => {
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
