"""What end-to-end tests and the demo share: a private agent, real engines, real containers.

Nothing here knows pytest. Everything that is started belongs to an object that ends it.
"""
