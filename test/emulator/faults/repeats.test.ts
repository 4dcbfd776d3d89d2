/** A run of the emulator repeats: the same seed and the same sends meet the same faults. */
import { createEmulator, FAULT_NAMES, type Delivery } from 'messaging-webhooks/emulator'
import { expect, onTestFinished, test } from 'vitest'
import { createTraffic } from '../../end-to-end/soak/traffic.ts'
import { PATIENCE_MS, serving } from '../callbacks/playing.ts'

/** Each callback with the faults of its requests; the order in which they end is the network's. */
async function run(seed: string): Promise<readonly string[]> {
  const { url } = await serving()
  const emulator = createEmulator({
    seed,
    faults: Object.fromEntries(FAULT_NAMES.map((name) => [name, 0.1])),
    network: { delayMs: [0, 50] },
    projects: [{ name: 'My Shop', callbackUrls: { status: url, received: url, payment: url, subscription: url } }],
  })
  onTestFinished(() => emulator.close())
  await createTraffic(emulator, (await emulator.listen()).url).play(100)
  expect(await emulator.idle({ deadlineMs: PATIENCE_MS })).toBe(true)
  return emulator.deliveries().map(shown).sort()
}

function shown({ payload, faults, kind }: Delivery): string {
  return JSON.stringify([kind, withoutTime(payload), faults])
}

/** The times are those of the clock on the wall. */
function withoutTime({ timestamp: _, ...payload }: Delivery['payload']): object {
  const { statuses } = payload
  if (typeof statuses !== 'object' || statuses === null) return payload
  return { ...payload, statuses: { ...statuses, expiration_timestamp: undefined } }
}

test('with the same seed, not with another', { timeout: 2 * PATIENCE_MS }, async () => {
  const [first, again, other] = await Promise.all([run('a'), run('a'), run('b')])
  expect(first.length).toBeGreaterThan(100)
  expect(again).toEqual(first)
  expect(other).not.toEqual(first)
})
