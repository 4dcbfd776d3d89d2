import { createReceiver } from 'messaging-webhooks'
import { receiverHandler } from 'messaging-webhooks/fetch'
import { watched } from '../../watched.ts'

// A build loads every route once, without options.
const options = process.env.RECEIVER_OPTIONS ?? '{"credentials":{"authKey":"of the build"}}'
const receiver = createReceiver(JSON.parse(options))
export const observed = watched(receiver)
export const status = receiverHandler(receiver, 'status')
