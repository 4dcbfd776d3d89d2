import { NestFactory } from '@nestjs/core'
import { Webhooks, WebhooksModule } from './webhooks.js'

const app = await NestFactory.create(WebhooksModule)
// First, and before listen(), which adds Nest's body parsers.
app.use('/webhooks/status', app.get(Webhooks).receiver.middleware('status'))
app.enableShutdownHooks() // so that handlers finish on SIGTERM
app.getHttpServer().keepAliveTimeout = 75_000 // longer than a proxy keeps idle connections
await app.listen(process.env['PORT'] ?? 3000)
