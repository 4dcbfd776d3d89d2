import { shared } from '../receiver.mjs'

export const dynamic = 'force-dynamic'
export const GET = () => Response.json(shared.observed())
