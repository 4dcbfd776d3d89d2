import { NestFactory } from '@nestjs/core'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { Webhooks, WebhooksModule } from './webhooks.js'

// While Fastify closes, it would refuse callbacks that the receiver still accepts.
const adapter = new FastifyAdapter({ return503OnClosing: false })
const app = await NestFactory.create<NestFastifyApplication>(WebhooksModule, adapter)
// First, and before listen(), which adds Nest's body parsers.
app.use('/webhooks/status', app.get(Webhooks).receiver.middleware('status'))
app.enableShutdownHooks() // so that handlers finish on SIGTERM
app.getHttpServer().keepAliveTimeout = 75_000 // longer than a proxy keeps idle connections
await app.listen(process.env['PORT'] ?? 3000)
