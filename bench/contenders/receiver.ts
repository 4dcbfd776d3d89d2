/** The receiver in its usual setup: both proofs, every feature on, one handler for every report. */
import { createServer } from 'node:http'
import express from 'express'
import { createReceiver, type Middleware } from 'messaging-webhooks'
import { AUTH_KEY, PATH, projectName, SIGNING_SECRET } from '../load/secrets.ts'
import { prefilled } from './prefilled.ts'
import { createTally, type Running, type StartOptions } from './contender.ts'
import { STORES, type Made, type StoreName } from './stores.ts'

/** A slow disk needs time for a whole round. */
const SETTLE_MS = 300_000

/** How the middleware is mounted in a server. */
export const MOUNTS = {
  'node-http': (middleware: Middleware) =>
    createServer((request, response) => {
      middleware(request, response)
    }),
  express: (middleware: Middleware) => createServer(express().use(PATH, middleware)),
} as const

export type MountName = keyof typeof MOUNTS

export async function startReceiver(
  mount: MountName,
  storeName: StoreName,
  { handlers = 1, projects, known = 0, place }: StartOptions,
): Promise<Running> {
  const tally = createTally()
  const made: Made = await STORES[storeName].make(place)
  const pair = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }
  const receiver = createReceiver({
    store: known === 0 ? made.store : prefilled(made, known),
    logger: false,
    ...(projects === undefined
      ? { credentials: pair }
      : { projects: Object.fromEntries(Array.from({ length: projects }, (_, at) => [projectName(at), pairOf(at)])) }),
  })
  // Two reports of a message that different processes accepted in turn may reach their handlers in the opposite order.
  receiver.on(['message.*', 'late'], () => tally.count())
  for (let more = 1; more < handlers; more += 1) receiver.on('message.*', () => {})
  await receiver.start()
  const server = MOUNTS[mount](receiver.middleware('status'))
  server.keepAliveTimeout = 75_000
  return {
    server,
    tally,
    async settle() {
      if (!(await receiver.drain({ deadlineMs: SETTLE_MS }))) throw new Error('Some events were not settled in time.')
    },
    async close(options) {
      await receiver.close({ deadlineMs: 1_000 })
      await made.close(options)
    },
  }
}

/** The load signs for the first project; the receiver tries the other pairs if a body names no project. */
function pairOf(index: number): { readonly authKey: string; readonly signingSecret: string } {
  const suffix = index === 0 ? '' : `-${index}`
  return { authKey: `${AUTH_KEY}${suffix}`, signingSecret: `${SIGNING_SECRET}${suffix}` }
}
