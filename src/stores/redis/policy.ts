/** Whether the server may throw away what it holds. */
import { MessagingWebhooksError } from '../../errors.ts'
import type { Reply } from './clients/connection.ts'
import { list, text } from './replies.ts'
import type { Scripted } from './scripted.ts'

/** An error to report where events may be lost, or nobody can say; undefined where all is well. */
export async function evictionProblem(redis: Scripted): Promise<MessagingWebhooksError | undefined> {
  const policies = (await policiesOf(redis, configured)) ?? (await policiesOf(redis, informed))
  if (policies === undefined)
    return new MessagingWebhooksError('store_evicts', 'It could not be asked: it allows neither CONFIG GET nor INFO.')
  const bad = policies.find((policy) => policy !== 'noeviction')
  return bad === undefined ? undefined : new MessagingWebhooksError('store_evicts', `Its maxmemory-policy is ${bad}.`)
}

type Ask = (redis: Scripted) => Promise<readonly (string | undefined)[]>

async function policiesOf(redis: Scripted, ask: Ask): Promise<readonly string[] | undefined> {
  try {
    const policies = await ask(redis)
    return policies.length > 0 && policies.every((policy) => policy !== undefined) ? policies : undefined
  } catch {
    // Many hosted servers forbid CONFIG, some INFO.
    return undefined
  }
}

const configured: Ask = async (redis) =>
  (await redis.askAll(['CONFIG', 'GET', 'maxmemory-policy'])).map((reply: Reply) => {
    const [, policy] = list(reply)
    return policy === undefined ? undefined : text(policy)
  })

const informed: Ask = async (redis) =>
  (await redis.askAll(['INFO', 'memory'])).map((reply) => /^maxmemory_policy:(\S+)/m.exec(text(reply))?.[1])
