// The receiver for the adapter cases, in its own process; the environment has its options.
import { createReceiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { watched } from './watched.ts'

const receiver = createReceiver(JSON.parse(process.env.RECEIVER_OPTIONS))
export const observed = watched(receiver)
export const status = receiverHandler(receiver, 'status')

/** One URL for the callbacks, one where a parser reads the body first, and one that returns the events and errors. */
export async function answer(request, context) {
  const { pathname } = new URL(request.url)
  if (pathname === '/observed') return Response.json(observed())
  if (pathname === '/behind-parser') await request.json()
  return status(request, context)
}
