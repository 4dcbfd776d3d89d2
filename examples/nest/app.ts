import { Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { DeliveredEvent, FailedEvent } from 'messaging-webhooks'
import { OnWebhook, WebhooksModule } from 'messaging-webhooks/nest'
import { sqliteStore } from 'messaging-webhooks/sqlite'

@Injectable()
class Reports {
  @OnWebhook('message.delivered')
  delivered({ messageId }: DeliveredEvent): void {
    console.log(`${messageId} was delivered`)
  }

  @OnWebhook('message.failed')
  failed({ messageId, failure }: FailedEvent): void {
    console.log(`${messageId} failed: ${failure.resend ? 'send it again' : 'do not send it again'}`)
  }
}

const { AUTH_KEY, SIGNING_SECRET, STORE = 'inbox.db', PORT = 3000 } = process.env
const credentials = { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET }

@Module({
  imports: [WebhooksModule.forRoot({ credentials, store: sqliteStore(STORE), status: '/webhooks/status' })],
  providers: [Reports],
})
class AppModule {}

const app = await NestFactory.create(AppModule)
app.enableShutdownHooks() // so that handlers finish on SIGTERM
app.getHttpServer().keepAliveTimeout = 75_000 // longer than a proxy keeps idle connections
await app.listen(PORT)
