/** The emulator's options, triggers and faults are typed by the tables that name them. */
import type { Clock } from 'messaging-webhooks'
import { createEmulator, type Delivery, type EmulatorReport } from 'messaging-webhooks/emulator'
import { expectTypeOf, test } from 'vitest'

test('an option that does not exist does not compile', () => {
  createEmulator()
  createEmulator({ seed: 'text', clock: Date.now, faults: { duplicate: 0.5 }, network: { delayMs: [0, 10] } })
  createEmulator({ projects: undefined, seed: undefined, clock: undefined })
  createEmulator({ proof: { sms: 'both', 'chat-app': 'signature' } })
  expectTypeOf<Clock>().toExtend<NonNullable<NonNullable<Parameters<typeof createEmulator>[0]>['clock']>>()
  // @ts-expect-error A misspelt option.
  createEmulator({ project: [] })
  // @ts-expect-error An unknown fault.
  createEmulator({ faults: { duplicates: 1 } })
  // @ts-expect-error An unknown channel.
  createEmulator({ proof: { status: 'signature' } })
  // @ts-expect-error An unknown callback kind.
  createEmulator({ projects: [{ name: 'A', callbackUrls: { statuses: 'http://localhost' } }] })
  // @ts-expect-error A project needs a name.
  createEmulator({ projects: [{ apiKey: 'k' }] })
})

test('a trigger that does not exist does not compile', () => {
  const emulator = createEmulator()
  expectTypeOf(emulator.trigger('subscription.consent')).toEqualTypeOf<Promise<readonly Delivery[]>>()
  expectTypeOf(emulator.report()).toEqualTypeOf<EmulatorReport>()
  // @ts-expect-error An unknown trigger.
  void emulator.trigger('subscription')
  // @ts-expect-error An unknown kind.
  void emulator.callback('statuses', {})
  // @ts-expect-error Keys cannot be changed with `configure`.
  emulator.configure({ apiKey: 'k' })
})

test('an activity narrows by its type', () => {
  createEmulator().onActivity((activity) => {
    if (activity.type === 'send') expectTypeOf(activity.send.httpStatus).toBeNumber()
    else if (activity.type === 'otp') expectTypeOf(activity.entry.deliveryState).toBeString()
    else expectTypeOf(activity.delivery).toEqualTypeOf<Delivery>()
  })
})
