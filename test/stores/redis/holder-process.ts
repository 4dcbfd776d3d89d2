/** A process that holds leases, and can be stopped in the middle. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'vitest'

export interface Held {
  readonly id: string
  readonly token: number
  readonly attempt: number
}

/** What programs/holding.ts sends. */
export type HolderMessage =
  | { readonly ready: true }
  | { readonly lost: true }
  | { readonly claims: readonly Held[] }
  /** And whether the store takes what was claimed for its own still. */
  | { readonly settled: readonly boolean[]; readonly isHeld: readonly boolean[] }

interface HolderProcess {
  readonly pid: number
  /** How often it heard that what it had leased is lost. */
  readonly losses: number
  claim(): Promise<readonly Held[]>
  settle(): Promise<readonly boolean[]>
  signal(name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void
}

export async function startHolder(
  { expect, onTestFinished }: Pick<TestContext, 'expect' | 'onTestFinished'>,
  url: string,
  prefix: string,
): Promise<HolderProcess> {
  const child = fork(new URL('./programs/holding.ts', import.meta.url), [url, prefix])
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  })
  const heard: HolderMessage[] = []
  child.on('message', (message: HolderMessage) => void heard.push(message))
  let answers = 0

  /** What it says to the next command. */
  async function answer(): Promise<HolderMessage> {
    const isAnswer = (message: HolderMessage): boolean => !('lost' in message)
    answers += 1
    await expect.poll(() => heard.filter(isAnswer).length, { timeout: 30_000 }).toBe(answers)
    return heard.filter(isAnswer).at(-1) ?? { ready: true }
  }

  await answer()
  return {
    pid: child.pid ?? 0,
    get losses() {
      return heard.filter((message) => 'lost' in message).length
    },
    async claim() {
      child.send('claim')
      const message = await answer()
      return 'claims' in message ? message.claims : []
    },
    async settle() {
      child.send('settle')
      const message = await answer()
      return 'settled' in message ? message.settled : []
    },
    signal: (name) => void child.kill(name),
  }
}
