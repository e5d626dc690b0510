"""What SQLAlchemy does: tables made and written by its models."""

import datetime
import sys

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

URL = sys.argv[1].replace("postgresql://", "postgresql+psycopg://")


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(sa.Integer, sa.Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(50), unique=True)
    born: Mapped[datetime.date | None]
    orders: Mapped[list["Order"]] = relationship(back_populates="customer")


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
    customer_id: Mapped[int] = mapped_column(sa.ForeignKey("customers.id"))
    note: Mapped[str | None] = mapped_column(index=True)
    customer: Mapped[Customer] = relationship(back_populates="orders")


def main():
    # What is asked of pg_type for it is not there.
    engine = sa.create_engine(URL, use_native_hstore=False)
    Base.metadata.create_all(engine, checkfirst=False)
    with Session(engine) as session:
        ada = Customer(name="Ada", born=datetime.date(1815, 12, 10))
        ada.orders = [Order(note="x"), Order(note=None)]
        session.add_all([ada, Customer(name="Bo")])
        session.commit()
        found = session.scalars(sa.select(Customer).order_by(Customer.name)).all()
        assert [(c.name, len(c.orders)) for c in found] == [("Ada", 2), ("Bo", 0)]
        ada.orders[0].note = "y"
        session.commit()
        notes = session.execute(sa.select(Order.note, sa.func.count()).group_by(Order.note).order_by(Order.note.nulls_last())).all()
        assert notes == [("y", 1), (None, 1)], notes
        session.add(Customer(name="Ada"))
        try:
            session.commit()
            raise AssertionError("the name was there")
        except sa.exc.IntegrityError:
            session.rollback()
    engine.dispose()


main()
