import { shared } from '../receiver.mjs'

export async function POST(request) {
  await request.json()
  return shared.status(request)
}
