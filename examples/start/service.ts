/** Plays the messaging service: puts the authKey in, signs the bytes and POSTs them, once each. */
import type { Server } from 'node:http'
import type { Receiver } from 'messaging-webhooks'
import { signCallback } from 'messaging-webhooks/testing'
import { scenes, type Callback } from './scenes.ts'
import type { Screen } from './screen.ts'

interface Stage {
  readonly server: Server
  readonly receiver: Pick<Receiver, 'stats' | 'drain'>
  readonly screen: Screen
  readonly credentials: { readonly authKey: string; readonly signingSecret: string }
}

/** Long enough for a handler to run, so that its line stands under its callback; short beside the gap time. */
const A_MOMENT_MS = 50

/** Sends every scene's callbacks. Returns how many there were. */
export async function playService({ server, receiver, screen, credentials }: Stage): Promise<number> {
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The server is not listening.')
  const baseUrl = `http://127.0.0.1:${address.port}`
  let sent = 0
  screen.title(baseUrl)
  for (const { title, callbacks } of scenes) {
    screen.scene(title)
    for (const callback of callbacks) {
      const before = await receiver.stats()
      screen.callbackBegins()
      const { kind, id, what } = callback
      const path = `/${kind}`
      const status = await post(baseUrl + path, callback)
      sent += 1
      await receiver.drain({ deadlineMs: A_MOMENT_MS })
      const { duplicates, late } = await receiver.stats()
      const note = duplicates > before.duplicates ? 'duplicate' : late > before.late ? 'late' : ''
      screen.callbackEnds({ path, status, id, what, note })
    }
    await receiver.drain()
  }
  return sent

  async function post(url: string, { body: fields, forged = false, ageSeconds = 0 }: Callback): Promise<number> {
    const authKey = forged ? 'a-guess' : credentials.authKey
    const signingSecret = forged ? 'a-guess' : credentials.signingSecret
    const body = JSON.stringify({ ...fields, authKey })
    const signature = signCallback(body, signingSecret, { timestamp: Math.floor(Date.now() / 1_000) - ageSeconds })
    const headers = { 'content-type': 'application/json', 'x-service-signature': signature }
    const response = await fetch(url, { method: 'POST', headers, body })
    await response.text()
    return response.status
  }
}
