// OpenTelemetry without an SDK, with the oldest supported API: everything works as without it.
import { createReceiver } from 'messaging-webhooks'
import { openTelemetry, type Telemetry } from 'messaging-webhooks/otel'
import { callback } from 'messaging-webhooks/testing'

const authKey: string = 'key-of-the-consumer'
const telemetry: Telemetry = openTelemetry()
const receiver = createReceiver({ credentials: { authKey }, traceContext: telemetry.traceContext })
const stop: () => void = telemetry.observe(receiver)
const handled: string[] = []
receiver.on('message.delivered', ({ messageId }) => void handled.push(messageId))
const body = Buffer.from(JSON.stringify({ ...callback.smsDelivery({ messageId: 'm-1' }), authKey }))
const { status } = await receiver.receive({ kind: 'status', method: 'POST', headers: {}, body })
await receiver.drain()
stop()
console.log(status, handled.join(), typeof telemetry.traceContext())
await receiver.close()
