import { Injectable, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common'
import { createReceiver } from 'messaging-webhooks'
import { sqliteStore } from 'messaging-webhooks/sqlite'

const { AUTH_KEY, SIGNING_SECRET, STORE = 'inbox.db' } = process.env

@Injectable()
class Notices {
  show(text: string): void {
    console.log(text)
  }
}

@Injectable()
export class Webhooks implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly receiver = createReceiver({
    credentials: { authKey: AUTH_KEY, signingSecret: SIGNING_SECRET },
    store: sqliteStore(STORE),
  })

  constructor(notices: Notices) {
    this.receiver.on('message.delivered', ({ messageId }) => notices.show(`${messageId} was delivered`))
    this.receiver.on('message.failed', ({ messageId, failure }) => {
      notices.show(`${messageId} failed: ${failure.resend ? 'send it again' : 'do not send it again'}`)
    })
  }

  // When every module is ready, so that handlers can use all providers.
  onApplicationBootstrap(): Promise<void> {
    return this.receiver.start()
  }

  // After the server has closed. Running handlers finish.
  onApplicationShutdown(): Promise<void> {
    return this.receiver.close()
  }
}

@Module({ providers: [Notices, Webhooks] })
export class WebhooksModule {}
