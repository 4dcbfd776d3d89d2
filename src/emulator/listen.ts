/** The emulator's own server. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { MessagingWebhooksError } from '../errors.ts'
import { withLastResort } from '../http/last-resort.ts'
import type { EmulatorApp } from './surface.ts'

export interface Listening {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Serves both apps, on loopback unless another host is named. */
export function listenOn(port: number, host: string, app: EmulatorApp, controlApp: EmulatorApp): Promise<Listening> {
  const server = http.createServer(
    withLastResort((request, response) => controlApp(request, response, () => app(request, response))),
  )
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      reject(new MessagingWebhooksError('emulator_port', `It was ${port} of ${host}.`, { cause }))
    })
    server.listen(port, host, () => {
      const address = server.address() as AddressInfo // A server on a port has no other kind of address.
      const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
      resolve({
        url: `http://${name}:${address.port}`,
        port: address.port,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}
