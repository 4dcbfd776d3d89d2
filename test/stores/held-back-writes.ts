/** The network delays a write until after its repetition was answered. What the SQL stores share. */
import type { Store } from 'messaging-webhooks'
import { expect, test } from 'vitest'
import { admit, claim, eventOf, opened, settleAll } from './postgres/events.ts'

/** For the option `queryTimeoutMs`: the store repeats a write soon. */
export const SHORT_MS = 200
const RETRY = { outcome: 'retry', inMs: 0 } as const

interface Delayable {
  /** Behind a proxy, with `SHORT_MS`. */
  readonly store: Store<object>
  readonly direct: Store<object>
  /** Holds back the next write. Resolves then, to the function that lets it arrive. */
  readonly holdBack: () => Promise<() => Promise<void>>
}

/** Makes a write that is held back, and repeats it until it is answered. */
async function repeated<T>({ holdBack }: Delayable, write: () => Promise<T>) {
  const holding = holdBack()
  const first = write()
  const arrive = await holding
  await expect(first).rejects.toThrow(/\bstore_(slow|failed)\b/)
  let answer: T | undefined
  await expect.poll(async () => (answer = await write().catch(() => undefined))).toBeDefined()
  return { answer, arrive }
}

export function testHeldAdmission(of: string, fresh: () => Promise<Delayable>): void {
  test(`an admission by ${of} that arrives after its repetition was answered changes nothing`, async () => {
    const delayable = await fresh()
    const open = await opened(delayable.store)
    const other = await opened(delayable.direct)
    const { answer, arrive } = await repeated(delayable, () => admit(open, [eventOf('m')]))
    expect(answer).toEqual(['new'])
    const claims = await claim(other)
    expect(claims).toMatchObject([{ attempt: 1 }])
    await arrive()
    expect(await claim(other)).toEqual([])
    expect(await settleAll(other, claims)).toEqual([true])
    expect(await other.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })
}

export function testHeldRetry(of: string, fresh: () => Promise<Delayable>): void {
  test(`a retry by ${of} that arrives after its repetition was answered changes nothing`, async () => {
    const delayable = await fresh()
    const open = await opened(delayable.store)
    const other = await opened(delayable.direct)
    await admit(open, [eventOf('m')])
    const first = await claim(open)
    const { answer, arrive } = await repeated(delayable, () => settleAll(open, first, RETRY))
    expect(answer).toEqual([true])
    const second = await claim(other)
    expect(second).toMatchObject([{ attempt: 2 }])
    await arrive()
    expect(await claim(other)).toEqual([])
    expect(await settleAll(other, second)).toEqual([true])
    expect(await other.counts()).toEqual({ unsettled: 0, deadLetters: 0 })
  })
}
