// The receiver of the table of cases, in a process of its own; its options come from outside.
import { createReceiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { watched } from './watched.ts'

const receiver = createReceiver(JSON.parse(process.env.RECEIVER_OPTIONS))
export const told = watched(receiver)
export const status = receiverHandler(receiver, 'status')

/** One URL for the callbacks, one where something reads the body before, and one that says what was told. */
export async function answer(request, context) {
  const { pathname } = new URL(request.url)
  if (pathname === '/told') return Response.json(told())
  if (pathname === '/behind-parser') await request.json()
  return status(request, context)
}
