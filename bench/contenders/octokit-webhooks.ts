/** @octokit/webhooks, as its README mounts it on `node:http`. */
import { createServer } from 'node:http'
import { createNodeMiddleware, Webhooks } from '@octokit/webhooks'
import { PATH, SIGNING_SECRET } from '../load/secrets.ts'
import { answersAtOnce, createTally, type Running } from './contender.ts'

export function start(): Running {
  const tally = createTally()
  const webhooks = new Webhooks({ secret: SIGNING_SECRET })
  webhooks.on('push', () => tally.count())
  const middleware = createNodeMiddleware(webhooks, { path: PATH })
  return answersAtOnce(
    createServer((request, response) => void middleware(request, response)),
    tally,
  )
}
