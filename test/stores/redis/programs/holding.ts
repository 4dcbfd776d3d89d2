/** A process that holds leases on a Redis: claims, settles and goes on when its parent says so, and tells what it hears. */
import { createClient } from 'redis'
import type { Claim } from '../../../../src/inbox/store.ts'
import { redisStore } from '../../../../src/stores/redis/store.ts'
import type { HolderMessage } from '../holder-process.ts'

const LEASE_MS = 600_000

const [url = '', prefix = ''] = process.argv.slice(2)
const say = (message: HolderMessage): void => void process.send?.(message)
const store = await redisStore({ client: createClient({ url }), prefix }).open({
  onWork() {},
  onLost: () => say({ lost: true }),
})
let claims: readonly Claim[] = []

async function act(command: unknown): Promise<void> {
  const nowMs = Date.now()
  if (command === 'claim') {
    const request = { limit: 100, nowMs, leaseUntilMs: nowMs + LEASE_MS, exclude: new Set<string>() }
    ;({ claims } = await store.claim(request))
    say({ claims: claims.map(({ id, token, attempt }) => ({ id, token, attempt })) })
    return
  }
  const settled = await store.settle(
    claims.map(({ id, messageKey, token }) => ({ id, messageKey, token, outcome: 'done' })),
    nowMs,
  )
  say({
    settled: settled.map((held) => held === true),
    isHeld: claims.map((each) => store.isHeld?.(each.messageKey) === true),
  })
}

process.on('message', (command) => void act(command))
say({ ready: true })
