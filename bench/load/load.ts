/** The load, as the benchmark sees it: a child process that makes callbacks and sends them. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Ask, Told } from './client.ts'

interface Load {
  /** Makes new callbacks, which every contender of a round gets. */
  make(count: number): Promise<void>
  /** Sends each of them once. Returns how long it took, in seconds; throws for a wrong answer. */
  sendTo(port: number, connections: number): Promise<number>
  stop(): void
}

export function startLoad(): Load {
  const child = fork(fileURLToPath(new URL('client.ts', import.meta.url)))

  async function ask(what: Ask): Promise<Told> {
    child.send(what)
    const [told] = (await once(child, 'message')) as [Told]
    if ('failed' in told) throw new Error(told.failed)
    return told
  }

  return {
    async make(count) {
      await ask({ make: count })
    },
    async sendTo(port, connections) {
      const told = await ask({ sendTo: port, connections })
      if (!('seconds' in told)) throw new Error('The load told no time.')
      return told.seconds
    },
    stop: () => void child.kill(),
  }
}
